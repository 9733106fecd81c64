// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "api/v1.hpp"
#include "cli/agent_client.hpp"
#include "cli/interrupt.hpp"
#include "cli/output/test_table.hpp"
#include "core/result.hpp"

namespace autopilot::cli {

// Has an agent make tests, one after the other, and tells on standard error how far each is, until an
// interrupt: that cancels the one which is under way.
class TestFollower {
 public:
  // `agent` outlives this.
  explicit TestFollower(const AgentClient& agent) : agent_(agent) {}

  [[nodiscard]] bool is_interrupted() const { return interrupt_.requested(); }
  // For so long, or until an interrupt.
  void pause(Duration duration) { interrupt_.wait(duration); }
  // Whether the agent began the last one.
  [[nodiscard]] bool has_begun() const { return has_begun_; }
  // When it is over, and its check has judged what was found, also by one that was ended before its time.
  // Errors: those of the agent, timed_out.
  [[nodiscard]] Result<FinishedTest> make(const api::OperationRequest& wanted);

 private:
  [[nodiscard]] Status follow(Operation& operation);
  void say(const Operation& operation);
  // Nothing: it had found nothing that is known.
  [[nodiscard]] std::optional<CheckResult> found_before(const Operation& ended);
  // Nothing: no check of this agent has that name.
  [[nodiscard]] Result<std::optional<CheckResult>> judgement_of(const Operation& operation);

  const AgentClient& agent_;
  const Interrupt interrupt_;
  bool has_begun_ = false;
  std::string said_;
};

// For an agent that did not begin a test.
[[nodiscard]] int exit_code_of(const Error& refusal);

}  // namespace autopilot::cli
