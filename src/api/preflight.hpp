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

// The wire form of the gate before a pod: POST /v1/preflight of openapi.yaml. As v1.hpp says of all of it.
namespace autopilot::api {

// What a pod wants to know of its GPUs before it begins. Which GPUs these are the agent finds out itself.
struct PreflightRequest {
  static constexpr std::size_t kMostTests = 16;
  static constexpr std::size_t kLongestTest = 64;  // bytes
  static constexpr Duration kLongestDeadline = std::chrono::minutes{30};

  std::vector<std::string> tests;    // empty: those that the node tests by default
  std::optional<Duration> deadline;  // likewise
};
[[nodiscard]] std::string to_json(const PreflightRequest& request);
// malformed as well: beyond the limits, a test twice, a word that is no id of a test.
[[nodiscard]] Result<PreflightRequest> parse_preflight_request(std::string_view json);

// failed: proven not to be as it should. could_not_look: nothing is proven.
enum class PreflightOutcome : std::uint8_t { passed, failed, could_not_look };
[[nodiscard]] std::string_view to_string(PreflightOutcome outcome);
[[nodiscard]] std::optional<PreflightOutcome> parse_preflight_outcome(std::string_view word);

// fresh: passed before, and nothing has happened since. passed: just now.
enum class PreflightState : std::uint8_t { waiting, running, fresh, passed, failed, could_not_look };
[[nodiscard]] std::string_view to_string(PreflightState state);
[[nodiscard]] std::optional<PreflightState> parse_preflight_state(std::string_view word);

struct PreflightTest {
  std::string id;
  PreflightState state = PreflightState::waiting;
  std::string message;          // in a sentence; may be empty
  std::optional<Duration> age;  // of a fresh one: since the oldest of its proofs
};

// `data` of the event "progress" while nothing is decided. More kinds of events may come; a reader ignores
// those that it does not know.
struct PreflightProgress {
  std::string node;
  std::string message;  // what is waited for, in a sentence
  std::vector<PreflightTest> tests;
  std::optional<Duration> wait = std::nullopt;  // how long the result may still take, beyond the deadline
};
[[nodiscard]] std::string to_json(const PreflightProgress& progress);
[[nodiscard]] Result<PreflightProgress> parse_preflight_progress(std::string_view json);

// `data` of the last event, "result", and the body for those who want no events.
struct PreflightResult {
  PreflightOutcome outcome = PreflightOutcome::could_not_look;
  bool may_start = false;  // by the policy of the node
  std::string node;
  std::vector<std::string> fresh;  // the tests among `tests` that were not made now
  std::vector<PreflightTest> tests;
  std::vector<std::string> gpus;  // UUIDs, none where nobody tells which the pod has
  std::string report;             // name of the HealthCheckReport; empty: none was written
  std::string message;            // all of it in a sentence
  bool simulated = false;
  bool is_durable = true;  // what was found now is known after a crash of the agent as well
};
[[nodiscard]] std::string to_json(const PreflightResult& result);
[[nodiscard]] Result<PreflightResult> parse_preflight_result(std::string_view json);

}  // namespace autopilot::api
