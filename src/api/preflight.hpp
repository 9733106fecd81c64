// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"

// Wire format of the pre-flight gate: POST /v1/preflight of openapi.yaml. The rules of v1.hpp apply.
namespace autopilot::api {

// The tests that a pod requests for its GPUs before it starts. The agent finds out which GPUs the pod has.
struct PreflightRequest {
  static constexpr std::size_t kMostTests = 16;
  static constexpr std::size_t kLongestTest = 64;  // bytes
  static constexpr Duration kLongestDeadline = std::chrono::minutes{30};

  std::vector<std::string> tests;    // empty: the default tests of the node
  std::optional<Duration> deadline;  // not set: the default of the node
};
[[nodiscard]] std::string to_json(const PreflightRequest& request);
// malformed also: beyond the limits, a duplicate test, or an invalid test id.
[[nodiscard]] Result<PreflightRequest> parse_preflight_request(std::string_view json);

// failed: proven faulty. could_not_look: nothing is proven.
enum class PreflightOutcome : std::uint8_t { passed, failed, could_not_look };
[[nodiscard]] std::string_view to_string(PreflightOutcome outcome);
[[nodiscard]] std::optional<PreflightOutcome> parse_preflight_outcome(std::string_view word);

// fresh: passed earlier, with no event since. passed: passed just now.
enum class PreflightState : std::uint8_t { waiting, running, fresh, passed, failed, could_not_look };
[[nodiscard]] std::string_view to_string(PreflightState state);
[[nodiscard]] std::optional<PreflightState> parse_preflight_state(std::string_view word);

struct PreflightTest {
  std::string id;
  PreflightState state = PreflightState::waiting;
  std::string message;          // in a sentence; may be empty
  std::optional<Duration> age;  // of a fresh test: time since its oldest proof
};

// `data` of the event "progress", sent until the decision. More kinds of events can follow; a reader ignores
// unknown kinds.
struct PreflightProgress {
  std::string node;
  std::string message;  // a sentence: what the gate waits for
  std::vector<PreflightTest> tests;
  std::optional<Duration> wait = std::nullopt;  // longest remaining time, beyond the deadline
};
[[nodiscard]] std::string to_json(const PreflightProgress& progress);
[[nodiscard]] Result<PreflightProgress> parse_preflight_progress(std::string_view json);

// A test of the node that the pod does not need.
struct PreflightLeftOut {
  std::string id;
  std::string why;  // in a sentence
};

// `data` of the last event, "result", and the body for clients without events.
struct PreflightResult {
  PreflightOutcome outcome = PreflightOutcome::could_not_look;
  bool may_start = false;  // by the node's policy
  std::string node;
  std::vector<std::string> fresh;  // the tests of `tests` that were not repeated
  std::vector<PreflightTest> tests;
  std::vector<std::string> gpus;  // UUIDs; empty if the GPUs of the pod are unknown
  std::string report;             // name of the HealthCheckReport; empty: not written
  std::string message;            // the whole result as a sentence
  std::string choice;             // why these tests, in a sentence; empty: all wanted tests
  std::vector<PreflightLeftOut> left_out;
  bool simulated = false;
  bool is_durable = true;  // the result survives a crash of the agent
};
[[nodiscard]] std::string to_json(const PreflightResult& result);
[[nodiscard]] Result<PreflightResult> parse_preflight_result(std::string_view json);

}  // namespace autopilot::api
