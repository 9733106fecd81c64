// SPDX-License-Identifier: Apache-2.0
#include "core/health.hpp"

#include <array>
#include <utility>

namespace autopilot {
namespace {

constexpr std::array<std::pair<Health, std::string_view>, 5> kHealthWords{{
    {Health::healthy, "healthy"},
    {Health::degraded, "degraded"},
    {Health::failed, "failed"},
    {Health::unknown, "unknown"},
    {Health::unsupported, "unsupported"},
}};

constexpr std::array<std::pair<Verdict, std::string_view>, 5> kVerdictWords{{
    {Verdict::none, ""},
    {Verdict::pass, "PASS"},
    {Verdict::warn, "WARN"},
    {Verdict::evict, "EVICT"},
    {Verdict::testing, "TESTING"},
}};

int weight(Health health) {
  switch (health) {
    case Health::unsupported:
      return 0;
    case Health::healthy:
      return 1;
    case Health::degraded:
      return 2;
    case Health::unknown:
      return 3;
    case Health::failed:
      return 4;
  }
  return 3;
}

}  // namespace

std::string_view to_string(Health health) {
  for (const auto& [value, word] : kHealthWords)
    if (value == health) return word;
  return "unknown";
}

std::optional<Health> parse_health(std::string_view word) {
  for (const auto& [value, name] : kHealthWords)
    if (name == word) return value;
  return std::nullopt;
}

Health worst(Health a, Health b) {
  return weight(a) >= weight(b) ? a : b;
}

std::string_view to_string(Verdict verdict) {
  for (const auto& [value, word] : kVerdictWords)
    if (value == verdict) return word;
  return "";
}

std::optional<Verdict> parse_verdict(std::string_view word) {
  for (const auto& [value, name] : kVerdictWords)
    if (name == word) return value;
  return std::nullopt;
}

}  // namespace autopilot
