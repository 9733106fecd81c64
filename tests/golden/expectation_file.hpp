// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/expectation.hpp"
#include "core/finding.hpp"
#include "core/result.hpp"

namespace autopilot::golden {

struct ExpectedFinding {
  std::string subject;
  std::string health;
  std::string reason;
  std::string action;
  bool held = false;
};

// Actual or required result of a check for a machine: expect.yaml.
struct Outcome {
  std::string health;
  std::optional<std::string> error;  // observe itself could not look: the word of its code
  std::vector<ExpectedFinding> findings;
  std::vector<std::string> witnesses;
  std::map<std::string, int> looked_at;  // subjects of each kind that answered anything in the last round
  // After the state machine, over all rounds; nothing: not compared.
  std::optional<std::vector<ExpectedFinding>> standing;
};

struct ExpectationFile {
  Outcome outcome;
  Expectation given;  // what the operator configured
};

[[nodiscard]] Result<ExpectationFile> parse_expectation(std::string_view text, const std::string& file);

[[nodiscard]] std::vector<ExpectedFinding> expected_findings(Findings findings);
// expect.yaml; the `given` part is copied from `before`.
[[nodiscard]] std::string format_outcome(const Outcome& outcome, std::string_view before);

// Lines of one text and not of the other, with - and +; empty when they say the same.
[[nodiscard]] std::string difference(const Outcome& expected, const Outcome& actual);

}  // namespace autopilot::golden
