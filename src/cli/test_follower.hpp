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

// Runs diagnostics on an agent, one after the other, and prints their progress on standard error. An
// interrupt stops the running one.
class TestFollower {
 public:
  // `agent` outlives this.
  explicit TestFollower(const AgentClient& agent) : agent_(agent) {}

  [[nodiscard]] bool is_interrupted() const { return interrupt_.requested(); }
  // Waits for `duration`, or until an interrupt.
  void pause(Duration duration) { interrupt_.wait(duration); }
  // True if the agent accepted the last diagnostic.
  [[nodiscard]] bool has_begun() const { return has_begun_; }
  // Returns when the diagnostic has ended and its check has judged the result, also the partial result of a
  // diagnostic that was stopped. Errors: those of the agent, timed_out.
  [[nodiscard]] Result<FinishedTest> make(const api::OperationRequest& wanted);

 private:
  [[nodiscard]] Status follow(Operation& operation);
  void say(const Operation& operation);
  // nullopt: the stopped diagnostic has no result.
  [[nodiscard]] std::optional<CheckResult> found_before(const Operation& ended);
  // nullopt: no check of this agent has that name.
  [[nodiscard]] Result<std::optional<CheckResult>> judgement_of(const Operation& operation);

  const AgentClient& agent_;
  const Interrupt interrupt_;
  bool has_begun_ = false;
  std::string said_;
};

// Exit code when the agent refuses a diagnostic.
[[nodiscard]] int exit_code_of(const Error& refusal);

}  // namespace autopilot::cli
