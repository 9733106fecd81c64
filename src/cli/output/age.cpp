// SPDX-License-Identifier: Apache-2.0
#include "cli/output/age.hpp"

#include <algorithm>

namespace autopilot::cli {

std::string age_of(WallTime then, WallTime now) {
  using namespace std::chrono;
  // The difference of two distant years overflows a Duration.
  const Duration age = std::max(std::max(now, WallTime{}) - std::max(then, WallTime{}), Duration{0});
  if (age < minutes{1}) return std::to_string(floor<seconds>(age).count()) + "s";
  if (age < hours{1}) return std::to_string(floor<minutes>(age).count()) + "m";
  if (age < days{1}) return std::to_string(floor<hours>(age).count()) + "h";
  return std::to_string(floor<days>(age).count()) + "d";
}

}  // namespace autopilot::cli
