// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <optional>
#include <string>
#include <vector>

#include "api/v1.hpp"
#include "cli/agent_client.hpp"
#include "cli/interrupt.hpp"
#include "cli/output/print.hpp"
#include "cli/output/test_table.hpp"
#include "core/check_result.hpp"
#include "core/clock.hpp"
#include "core/operation.hpp"
#include "core/result.hpp"

namespace autopilot::cli {

// True if the deadline or a request stopped it.
[[nodiscard]] bool was_ended(const Operation& operation);

// True if the result contains observations of this diagnostic, not only of an earlier one.
[[nodiscard]] bool has_results_of(const Operation& operation, const CheckResult& result);

// True if the check ran after the diagnostic left its results. A run that overlaps the stop of a diagnostic
// may have missed them.
[[nodiscard]] bool has_judged(const Operation& operation, const CheckResult& result);

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
  [[nodiscard]] Result<FinishedTest> run(const api::OperationRequest& wanted);

 private:
  [[nodiscard]] Status follow(Operation& operation);
  void show_progress(const Operation& operation);
  // nullopt: the stopped diagnostic has no result.
  [[nodiscard]] std::optional<CheckResult> partial_result(const Operation& ended);
  // nullopt: no check of this agent has that name.
  [[nodiscard]] Result<std::optional<CheckResult>> judgement_of(const Operation& operation);

  const AgentClient& agent_;
  const Interrupt interrupt_;
  bool has_begun_ = false;
  std::string shown_;
};

// Exit code when the agent refuses a diagnostic.
[[nodiscard]] int exit_code_of(const Error& refusal);

// A request for diagnostics.
struct TestRequest {
  std::vector<std::string> ids;  // run in this order; empty: list the diagnostics
  std::optional<Duration> deadline;
  OutputFormat format = OutputFormat::table;
};

// ID..., --deadline and -o of a verb.
void add_test_options(CLI::App& verb, TestRequest& request);

}  // namespace autopilot::cli
