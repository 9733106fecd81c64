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

// HealthCheckReport: what the tests of one pod's GPUs said before it began, and what was done about it
// (deploy/helm/autopilot/crds/healthcheckreports.yaml). `spec` is written by the agent of the node, `status`
// by the controller. A field that is missing or of another kind is as empty as it stands here.
namespace autopilot::kube {

// "/apis/autopilot.ibm.com/v1alpha1/namespaces/<name_space>/healthcheckreports"
[[nodiscard]] std::string health_check_reports_path(std::string_view name_space);
// "<node>-<10 digits>": the same for the same pod and tests, in whatever order.
[[nodiscard]] std::string health_check_report_name(std::string_view node, std::string_view pod_uid,
                                                   std::vector<std::string> tests);

// started: the pod was let in without a proof. failed: a test failed, or the node is to be left.
// could_not_look: the policy keeps a pod out that could not be tested.
enum class ReportedOutcome : std::uint8_t { started, failed, could_not_look };
[[nodiscard]] std::string_view to_string(ReportedOutcome outcome);
[[nodiscard]] std::optional<ReportedOutcome> parse_reported_outcome(std::string_view word);

// What became of it: nothing yet; a RemediationPlan names it; that was carried out; and taken back; or nobody
// needs it any more.
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
  static constexpr std::size_t kLongestWord = 253;   // of names and the like
  static constexpr std::size_t kLongestEvidence = 512;

  Meta meta;
  std::optional<WallTime> created;  // by the API server

  std::string node;
  ReportedPod pod;
  std::optional<ReportedJob> job;
  std::vector<std::string> tests;          // that were asked for
  std::vector<std::string> gpus;           // UUIDs of those that the pod has; none where nobody tells
  std::optional<ReportedOutcome> outcome;  // nothing: a word that nobody knows
  bool is_let_in = false;                  // the pod starts though a test failed: it is only reported
  std::string message;                     // all of it in a sentence
  std::vector<ReportedFinding> findings;
  std::string issuer;  // the agent, as it calls itself on the Node object
  std::optional<WallTime> time;
  bool is_simulated = false;

  ReportPhase phase = ReportPhase::pending;
  std::string plan;  // name of the RemediationPlan
  std::string said;  // what was done, or why nothing is
  std::optional<WallTime> acted;
  std::optional<WallTime> undone;
};

[[nodiscard]] HealthCheckReport parse_health_check_report(const JsonObject& object);
// malformed: no JSON object.
[[nodiscard]] Result<HealthCheckReport> parse_health_check_report(std::string_view text);

// Metadata and spec, to be created, or with a resourceVersion to replace what is there. What is beyond the
// limits is cut or left out: a server would refuse all of it.
[[nodiscard]] std::string health_check_report_json(const HealthCheckReport& report);
// The status alone, as a merge patch of the subresource; what is empty is removed there. With a
// resourceVersion it is refused where the report has changed.
[[nodiscard]] std::string health_check_status_patch(const HealthCheckReport& report);

}  // namespace autopilot::kube
