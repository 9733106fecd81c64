// SPDX-License-Identifier: Apache-2.0
#include "cli/test_follower.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <utility>

#include "cli/cli.hpp"
#include "cli/output/print.hpp"
#include "cli/settings.hpp"
#include "core/clock.hpp"
#include "core/observation.hpp"

namespace autopilot::cli {

bool was_ended(const Operation& operation) {
  return operation.state == OperationState::timed_out || operation.state == OperationState::cancelled;
}

bool has_results_of(const Operation& operation, const CheckResult& result) {
  return std::ranges::any_of(result.observations.all(), [&operation](const Observation& one) {
    const auto tested_at = parse_time(attribute_text(one, "testedAt"));
    return tested_at && *tested_at >= operation.started;
  });
}

bool has_judged(const Operation& operation, const CheckResult& result) {
  const WallTime finished = operation.finished.value_or(operation.created);
  if (!was_ended(operation)) return result.completed >= finished;
  return has_results_of(operation, result) || result.completed - result.duration >= finished;
}

namespace {

constexpr Duration kPollInterval = std::chrono::milliseconds{200};
// From the end of a diagnostic to the judgement of its check.
constexpr Duration kJudgement = std::chrono::seconds{20};
constexpr Duration kJudgementOfInterrupted = std::chrono::seconds{3};

}  // namespace

Result<FinishedTest> TestFollower::run(const api::OperationRequest& wanted) {
  has_begun_ = false;
  const std::string begun = TRY(agent_.send("POST", "/v1/operations", api::to_json(wanted)));
  has_begun_ = true;
  FinishedTest test{TRY(api::parse_operation(begun)), {}};
  TRY_STATUS(follow(test.operation));
  if (test.operation.state == OperationState::succeeded) test.result = TRY(judgement_of(test.operation));
  if (was_ended(test.operation)) test.result = partial_result(test.operation);
  return test;
}

Status TestFollower::follow(Operation& operation) {
  const std::string path = "/v1/operations/" + operation.id;
  bool is_cancelled = false;
  while (!operation.is_over()) {
    show_progress(operation);
    interrupt_.wait(kPollInterval);
    if (is_interrupted() && !std::exchange(is_cancelled, true)) {
      tell("stopping " + operation.id);
      (void)agent_.send("DELETE", path, "");
    }
    const std::string now = TRY(agent_.get(path));
    operation = TRY(api::parse_operation(now));
  }
  return {};
}

void TestFollower::show_progress(const Operation& operation) {
  const std::string line =
      operation.kind + ": " + (operation.message.empty() ? "started as " + operation.id : operation.message);
  if (std::exchange(shown_, line) != line) tell(line);
}

std::optional<CheckResult> TestFollower::partial_result(const Operation& ended) {
  auto judged = judgement_of(ended).value_or(std::nullopt);
  return judged && has_results_of(ended, *judged) ? std::move(judged) : std::nullopt;
}

Result<std::optional<CheckResult>> TestFollower::judgement_of(const Operation& operation) {
  const std::string list = TRY(agent_.get("/v1/checks"));
  const auto checks = TRY(api::parse_checks(list));
  const auto has_name = [&operation](const api::CheckSummary& check) {
    return check.info.id == operation.kind;
  };
  if (std::ranges::none_of(checks, has_name)) return std::nullopt;
  for (Duration waited{}; waited < (is_interrupted() ? kJudgementOfInterrupted : kJudgement);
       waited += kPollInterval) {
    const std::string now = TRY(agent_.get("/v1/checks/" + operation.kind));
    auto result = TRY(api::parse_check_result(now));
    if (has_judged(operation, result)) return result;
    interrupt_.wait(kPollInterval);
  }
  return fail(
      Errc::timed_out,
      operation.kind +
          " has ended, but its check has not judged the result in time; show it with: autopilot check " +
          operation.kind);
}

int exit_code_of(const Error& refusal) {
  return refusal.code == Errc::not_found || refusal.code == Errc::malformed ? kExitUsage : kExitInternal;
}

void add_test_options(CLI::App& verb, TestRequest& request) {
  verb.add_option("ID", request.ids, "Diagnostics to run in this order; without an ID: list them");
  add_duration_option(verb, "--deadline", request.deadline, "Stop a diagnostic after this time");
  add_format_option(verb, request.format);
}

}  // namespace autopilot::cli
