// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

// Whether learned values decide worse than the values in use. Pure.
namespace autopilot::learning {

// What the engine finds with one set of values on job telemetry with labels.
struct SignalReplay {
  std::size_t faults = 0, detected = 0, false_findings = 0;
  std::uint64_t false_accusations = 0;

  [[nodiscard]] double f1() const;  // 1 without a fault and a finding
  SignalReplay& operator+=(const SignalReplay& other);
};

// How one set of values judges findings that exist.
struct SignalJudgement {
  std::size_t accusing = 0;  // of all findings
  std::size_t wrong = 0;     // that accuse, with the label healthy
  std::size_t missed = 0;    // that do not accuse, with the label faulty
};

// nullopt: `after` is as good as `before`, or better. Otherwise what is worse, with both numbers: a lower F1
// or more false accusations; more labels that the values contradict.
[[nodiscard]] std::optional<std::string> what_is_worse(const SignalReplay& before, const SignalReplay& after);
[[nodiscard]] std::optional<std::string> what_is_worse(const SignalJudgement& before,
                                                       const SignalJudgement& after);

}  // namespace autopilot::learning
