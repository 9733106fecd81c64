// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/check_info.hpp"
#include "core/event.hpp"
#include "core/incident.hpp"
#include "core/operation.hpp"
#include "core/result.hpp"
#include "core/snapshot.hpp"

namespace autopilot::api {

// The wire format, version 1: JSON with camelCase names, described by openapi.yaml. Pure functions.
//
// Writers: one line, UTF-8 (invalid bytes become U+FFFD), no NaN and no infinity (such a value is omitted and
// marked as missing). Readers: strict on types; every error is `malformed` with the path of the value
// ("results[3].findings[0].health: expected a string"). Unknown names are ignored, so that a newer agent can
// add members. Text beyond kMaxBytes or kMaxDepth is refused.

inline constexpr std::size_t kMaxBytes = std::size_t{32} << 20;
inline constexpr std::size_t kMaxDepth = 16;

// The parts of the node's state to include.
struct View {
  bool observations = true;
  bool simulated = false;  // for a single result or a list; a snapshot has its own flag
};

// "autopilot.check/v1": the node with all results, incidents, profile and the agent's own state.
[[nodiscard]] std::string to_json(const NodeSnapshot& snapshot, View view = {});
[[nodiscard]] Result<NodeSnapshot> parse_node(std::string_view json);

[[nodiscard]] std::string to_json(const CheckResult& result, View view = {});
[[nodiscard]] Result<CheckResult> parse_check_result(std::string_view json);

// A check and the outcome of its last run.
struct CheckSummary {
  CheckInfo info;
  bool required = false;
  Health health = Health::unknown;
  WallTime completed{};  // epoch before the first run
};
[[nodiscard]] std::vector<CheckSummary> summarize(const std::vector<CheckInfo>& checks,
                                                  const NodeSnapshot& snapshot);
// Lists are `{"simulated":false,"items":[...]}`. For checks that did not run: their description, without
// results.
[[nodiscard]] std::string to_json(const std::vector<CheckInfo>& checks, View view = {});
[[nodiscard]] std::string to_json(const std::vector<CheckSummary>& checks, View view = {});
[[nodiscard]] Result<std::vector<CheckSummary>> parse_checks(std::string_view json);

// `durable`: set in the response to a change; false if the journal did not confirm it in time.
[[nodiscard]] std::string to_json(const Incident& incident, std::optional<bool> durable = std::nullopt);
[[nodiscard]] std::string to_json(const std::vector<Incident>& incidents, View view = {});
[[nodiscard]] Result<Incident> parse_incident(std::string_view json);
[[nodiscard]] Result<std::vector<Incident>> parse_incidents(std::string_view json);

[[nodiscard]] std::string to_json(const Operation& operation, std::optional<bool> durable = std::nullopt);
[[nodiscard]] std::string to_json(const std::vector<Operation>& operations, View view = {});
[[nodiscard]] Result<Operation> parse_operation(std::string_view json);
[[nodiscard]] Result<std::vector<Operation>> parse_operations(std::string_view json);

// A test that can start as an operation.
struct TestInfo {
  std::string id;  // the kind of the operation; often the check that judges its results
  std::string title;
  Duration deadline{};
};
[[nodiscard]] std::string to_json(const std::vector<TestInfo>& tests, View view = {});
[[nodiscard]] Result<std::vector<TestInfo>> parse_tests(std::string_view json);

// Also the `data` of a server-sent event.
[[nodiscard]] std::string to_json(const Event& event);
[[nodiscard]] std::string to_json(const std::vector<Event>& events, View view = {});
[[nodiscard]] Result<Event> parse_event(std::string_view json);
[[nodiscard]] Result<std::vector<Event>> parse_events(std::string_view json);

// `{"error":{"code":"not_found","message":"..."}}`.
[[nodiscard]] std::string to_json(const Error& error);
// The error in an agent's response; malformed if the text is not such an object.
[[nodiscard]] Error parse_error(std::string_view json);

// Body of POST /v1/operations.
struct OperationRequest {
  std::string kind;
  std::vector<Subject> reservation;
  std::optional<Duration> deadline;  // not set: the default of the kind
};
[[nodiscard]] std::string to_json(const OperationRequest& request);
[[nodiscard]] Result<OperationRequest> parse_operation_request(std::string_view json);

// Body of POST /v1/incidents/{id}/ack. malformed: the reason is missing or longer than
// Acknowledgement::kMaxReasonBytes.
struct AcknowledgeRequest {
  std::string reason;
};
[[nodiscard]] std::string to_json(const AcknowledgeRequest& request);
[[nodiscard]] Result<AcknowledgeRequest> parse_acknowledge_request(std::string_view json);

// Body of POST /v1/inject.
struct InjectRequest {
  std::string fault;  // id from the catalog of faults
  Subject subject;
  std::optional<double> magnitude;
  std::optional<Duration> duration;  // not set: until revoked
};
[[nodiscard]] std::string to_json(const InjectRequest& request);
[[nodiscard]] Result<InjectRequest> parse_inject_request(std::string_view json);

// Answer to POST /v1/inject.
struct Receipt {
  std::string id;
  bool durable = false;
};
[[nodiscard]] std::string to_json(const Receipt& receipt);
[[nodiscard]] Result<Receipt> parse_receipt(std::string_view json);

// src/api/openapi.yaml as of the build.
[[nodiscard]] std::string_view openapi_yaml();

// A JSON text in YAML's block style, for people. Strings that YAML would read as another type are quoted.
// malformed: `text` is not JSON.
[[nodiscard]] Result<std::string> json_to_yaml(std::string_view text);

}  // namespace autopilot::api
