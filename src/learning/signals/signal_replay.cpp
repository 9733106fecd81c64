// SPDX-License-Identifier: Apache-2.0
#include "learning/signals/signal_replay.hpp"

#include <array>
#include <cstdio>

namespace autopilot::learning {
namespace {

std::string f1_text(double f1) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4f", f1);  // NOLINT(cert-err33-c): six characters always fit
  return text.data();
}

}  // namespace

double SignalReplay::f1() const {
  const std::size_t all = faults + detected + false_findings;
  return all == 0 ? 1 : 2 * static_cast<double>(detected) / static_cast<double>(all);
}

SignalReplay& SignalReplay::operator+=(const SignalReplay& other) {
  faults += other.faults;
  detected += other.detected;
  false_findings += other.false_findings;
  false_accusations += other.false_accusations;
  return *this;
}

std::optional<std::string> what_is_worse(const SignalReplay& before, const SignalReplay& after) {
  if (after.f1() >= before.f1() && after.false_accusations <= before.false_accusations) return std::nullopt;
  return "on the folders themselves, F1 is " + f1_text(after.f1()) + " with what was learned and " +
         f1_text(before.f1()) + " without it; false accusations are " +
         std::to_string(after.false_accusations) + " and " + std::to_string(before.false_accusations);
}

std::optional<std::string> what_is_worse(const SignalJudgement& before, const SignalJudgement& after) {
  if (after.wrong + after.missed <= before.wrong + before.missed) return std::nullopt;
  return "what was learned contradicts " + std::to_string(after.wrong + after.missed) +
         " labels of findings, the values in use contradict " + std::to_string(before.wrong + before.missed);
}

}  // namespace autopilot::learning
