// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/health.hpp"
#include "core/result.hpp"
#include "kube/objects.hpp"

namespace autopilot::kube {

// The displayed part of a NodeHealthReport, which agents write
// (deploy/helm/autopilot/crds/nodehealthreports.yaml). A field that is missing or has another type gets its
// default here. Texts are untrusted: any client that can write the object can set them.

struct JsonObject;  // json_object.hpp

// "/apis/autopilot.ibm.com/v1alpha1/namespaces/<name_space>/nodehealthreports"
[[nodiscard]] std::string health_reports_path(std::string_view name_space);

struct HealthReport {
  std::string node;
  std::optional<WallTime> observed;
  Health health = Health::unknown;
  std::optional<Verdict> written;  // the verdict on the node; nullopt: an unknown value
  std::string looked;              // "30 of 31"
  std::string worst_incident;
  bool is_simulated = false;
};
[[nodiscard]] HealthReport parse_health_report(const JsonObject& object);

struct ReportedIncident {
  std::string id;
  std::string state;   // "open", "recovering"
  std::string check;   // the check that found its cause
  std::string reason;  // "xid_79"
  std::string cause;   // id in the catalog of causes; empty: none
  std::string blamed;  // "gpu/0000:3b:00.0"
  Health health = Health::unknown;
  std::string action;  // "none", "reset_gpu"
  std::string summary;
  std::optional<WallTime> opened;
  bool is_acknowledged = false;
  bool is_injected = false;
};

struct ReportedCheck {
  std::string id;
  Health health = Health::unknown;
  bool is_required = false;
  std::string message;
};

// An incident that holds the verdict EVICT.
struct ReportedEviction {
  std::string incident;
  std::optional<WallTime> closed;
  bool is_acknowledged = false;
};

// An active test that a GPU passed.
struct ReportedPass {
  std::string gpu_uuid;
  std::string test;
  std::optional<WallTime> time;
};

// Data that the list of all nodes does not need.
struct ReportDetails {
  std::vector<std::string> missing_rights;
  std::vector<ReportedIncident> incidents;
  std::int64_t incidents_left_out = 0;
  std::vector<ReportedCheck> checks;
  std::vector<ReportedEviction> evicting;
  std::string why_evicted;        // why EVICT remains, and what ends it; empty: EVICT is not held
  std::vector<std::string> gpus;  // UUIDs; empty if unknown
  std::vector<ReportedPass> passes;
};
[[nodiscard]] ReportDetails parse_report_details(const JsonObject& object);

// HealthCheckReport: results of the tests of one pod's GPUs before it started, and the actions taken
// (deploy/helm/autopilot/crds/healthcheckreports.yaml). The agent of the node writes `spec`, the controller
// writes `status`. A field that is missing or has another type gets its default here.

// "/apis/autopilot.ibm.com/v1alpha1/namespaces/<name_space>/healthcheckreports"
[[nodiscard]] std::string health_check_reports_path(std::string_view name_space);
// "<node>-<10 digits>": equal for the same pod and tests, in any order.
[[nodiscard]] std::string health_check_report_name(std::string_view node, std::string_view pod_uid,
                                                   std::vector<std::string> tests);

// started: the pod was admitted without proof. failed: a test failed, or pods should leave the node.
// could_not_look: the policy refuses a pod that could not be tested.
enum class ReportedOutcome : std::uint8_t { started, failed, could_not_look };
[[nodiscard]] std::string_view to_string(ReportedOutcome outcome);
[[nodiscard]] std::optional<ReportedOutcome> parse_reported_outcome(std::string_view word);

// Progress: pending; named by a RemediationPlan; carried out; reverted; or no longer needed.
enum class ReportPhase : std::uint8_t { pending, planned, acted, undone, expired };
[[nodiscard]] std::string_view to_string(ReportPhase phase);  // "Pending"
[[nodiscard]] std::optional<ReportPhase> parse_report_phase(std::string_view word);

struct ReportedPod {
  std::string name_space;
  std::string name;
  std::string uid;
  friend bool operator==(const ReportedPod&, const ReportedPod&) = default;
};

// The controlling owner of the pod.
struct ReportedJob {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;
  friend bool operator==(const ReportedJob&, const ReportedJob&) = default;
};

struct ReportedFinding {
  std::string subject;  // "gpu/0000:3b:00.0", "host"
  std::string check;
  Health health = Health::unknown;
  std::string reason;
  std::string message;
  std::map<std::string, std::string> evidence;
  friend bool operator==(const ReportedFinding&, const ReportedFinding&) = default;
};

struct HealthCheckReport {
  static constexpr std::size_t kMostTests = 16;
  static constexpr std::size_t kMostGpus = 64;
  static constexpr std::size_t kMostFindings = 32;
  static constexpr std::size_t kMostEvidence = 16;
  static constexpr std::size_t kLongestText = 1024;  // bytes of a message
  static constexpr std::size_t kLongestWord = 253;   // bytes of names and similar texts
  static constexpr std::size_t kLongestEvidence = 512;

  Meta meta;
  std::optional<WallTime> created;  // set by the API server

  std::string node;
  ReportedPod pod;
  std::optional<ReportedJob> job;
  std::vector<std::string> tests;          // requested tests
  std::vector<std::string> gpus;           // UUIDs of the pod's GPUs; empty if unknown
  std::optional<ReportedOutcome> outcome;  // nullopt: an unknown value
  bool is_let_in = false;  // the pod starts although a test failed: failures are only reported
  std::string message;     // the whole result as a sentence
  std::vector<ReportedFinding> findings;
  std::string issuer;  // the agent, under its name on the Node object
  std::optional<WallTime> time;
  bool is_simulated = false;

  ReportPhase phase = ReportPhase::pending;
  std::string plan;  // name of the RemediationPlan
  std::string said;  // the action taken, or why there is none
  std::optional<WallTime> acted;
  std::optional<WallTime> undone;
};

[[nodiscard]] HealthCheckReport parse_health_check_report(const JsonObject& object);
// malformed: not a JSON object.
[[nodiscard]] Result<HealthCheckReport> parse_health_check_report(std::string_view text);

// Metadata and spec, to create an object, or with a resourceVersion to replace it. Data beyond the limits is
// truncated or omitted: the server would refuse the whole object.
[[nodiscard]] std::string health_check_report_json(const HealthCheckReport& report);
// The status as a merge patch of the subresource; empty fields are removed. With a resourceVersion, the
// server refuses it if the report has changed.
[[nodiscard]] std::string health_check_status_patch(const HealthCheckReport& report);

}  // namespace autopilot::kube
