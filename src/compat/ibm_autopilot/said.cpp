// SPDX-License-Identifier: Apache-2.0
#include "compat/ibm_autopilot/said.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "compat/ibm_autopilot/reading.hpp"
#include "compat/ibm_autopilot/status_words.hpp"

namespace autopilot::compat::ibm_autopilot {

std::string message_of(const CheckResult& result, Health health) {
  const auto found = std::ranges::find(result.findings, health, &Finding::health);
  return found == result.findings.end() ? "" : found->message;
}

std::string two_digits(double number) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.2f", number);
  return text.data();
}

std::string on_one_line(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char letter) { return letter < ' '; }, ' ');
  return without_tags(text);
}

std::string abort_line(const NodeSnapshot& snapshot, const CheckResult& result) {
  std::string why = message_of(result, Health::unknown);
  if (const CheckResult* present = find_result(snapshot, "gpu.present"); why.empty() && present != nullptr)
    why = message_of(*present, Health::failed);
  if (why.empty()) why = message_of(result, Health::unsupported);
  if (why.empty()) why = "the check has not run yet";
  return "!! " + on_one_line(why) + ". ABORT.\n";
}

}  // namespace autopilot::compat::ibm_autopilot
