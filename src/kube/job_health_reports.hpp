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
#include "core/result.hpp"
#include "kube/objects.hpp"

namespace autopilot::kube {

// JobHealthReport: the health of one job, in the namespace of the job
// (deploy/helm/autopilot/crds/jobhealthreports.yaml). The controller writes it. A field that is missing or
// has another type gets its default here. Texts are untrusted: any client that can write the object can set
// them.

struct JsonObject;  // json_object.hpp

// "/apis/autopilot.ibm.com/v1alpha1/namespaces/<name_space>/jobhealthreports"; empty: of all namespaces.
[[nodiscard]] std::string job_health_reports_path(std::string_view name_space);
// The name of the job as a DNS name, without its namespace ("ml/llama" is "llama"), with ten digits that are
// equal for the same job only.
[[nodiscard]] std::string job_health_report_name(std::string_view job);

struct ReportedJobFinding {
  std::string id;
  std::string effect;    // "hang"
  std::string severity;  // "page"
  std::string culprit;   // "GPU 3 of gpu-001"
  std::string cause;     // "thermal"
  std::string summary;   // one sentence
  std::string choice;    // "stop_now"
  std::optional<WallTime> since;
  std::optional<WallTime> resolved;  // nullopt: open
  std::vector<std::string> evidence;
  friend bool operator==(const ReportedJobFinding&, const ReportedJobFinding&) = default;
};

struct ReportedJobFailure {
  std::string kind;   // "hardware", "application", "infrastructure", "unclear"
  std::string cause;  // "xid_79"
  std::string culprit;
  std::string sentence;
  std::optional<WallTime> time;
  std::vector<std::string> evidence;
  std::vector<std::string> not_available;  // sources without a record
  friend bool operator==(const ReportedJobFailure&, const ReportedJobFailure&) = default;
};

// A node that did not pass its validation after the job.
struct ReportedNodeValidation {
  std::string node;
  std::string verdict;  // "failed", "unknown"
  std::string text;     // one sentence
  std::optional<WallTime> time;
  friend bool operator==(const ReportedNodeValidation&, const ReportedNodeValidation&) = default;
};

struct ReportedAfterwards {
  std::string text;  // one sentence about all nodes
  std::int64_t passed = 0;
  std::int64_t failed = 0;
  std::int64_t unknown = 0;
  std::vector<ReportedNodeValidation> nodes;  // that did not pass, failed ones first
  friend bool operator==(const ReportedAfterwards&, const ReportedAfterwards&) = default;
};

// What the controller did about a finding, by its id.
struct ReportedJobAction {
  std::string choice;
  std::string state;  // "planned", "waiting", "done", "failed", "given_up"
  std::string message;
  std::vector<std::string> steps;
  std::optional<WallTime> time;
  friend bool operator==(const ReportedJobAction&, const ReportedJobAction&) = default;
};

struct JobHealthReport {
  static constexpr std::size_t kMaxBytes = std::size_t{32} << 10;  // of the JSON
  static constexpr std::size_t kMostFindings = 16;
  static constexpr std::size_t kMostEvidence = 8;    // of one finding
  static constexpr std::size_t kMostNodes = 64;      // names
  static constexpr std::size_t kMostValidated = 16;  // nodes that did not pass
  static constexpr std::size_t kMostTexts = 16;      // of other lists
  static constexpr std::size_t kLongestText = 512;
  static constexpr std::size_t kLongestSentence = 1024;  // about the nodes afterwards
  static constexpr std::size_t kLongestWord = 253;
  static constexpr std::size_t kMaxMemoryBytes = std::size_t{24} << 10;  // beyond, it is left out

  Meta meta;
  std::string job;
  std::string name;  // for display
  std::string owner;
  std::string health;             // "hung"
  std::string culprit;            // of the worst open finding; empty: none
  std::optional<WallTime> since;  // of the worst open finding, or the begin of the job
  std::int64_t node_count = 0;
  std::vector<std::string> nodes;
  std::int64_t attempt = 1;
  std::optional<std::int64_t> step;
  std::optional<double> step_s;
  std::string progress_source;
  std::optional<WallTime> started;
  std::optional<WallTime> ended;
  std::string outcome;                       // "failed"; empty: it runs
  std::vector<ReportedJobFinding> findings;  // open ones first
  std::optional<ReportedJobFailure> failure;
  std::optional<ReportedAfterwards> afterwards;  // validations of its nodes
  std::vector<std::string> not_seen;
  std::optional<WallTime> updated;
  std::string memory;  // in the status: for the next leader, opaque here; empty: none
  std::map<std::string, ReportedJobAction, std::less<>> actions;  // written separately
};

[[nodiscard]] JobHealthReport parse_job_health_report(const JsonObject& object);
// malformed: not a JSON object.
[[nodiscard]] Result<JobHealthReport> parse_job_health_report(std::string_view text);

// The object to create, and a merge patch with the same content. The spec has at most kMaxBytes: lists keep
// their first items, texts their beginning, and evidence is left out from the last finding on, then findings,
// then validated nodes. Without `actions`, which a patch does not change.
[[nodiscard]] std::string job_health_report_json(std::string_view name, const JobHealthReport& report);
[[nodiscard]] std::string job_health_report_patch(const JobHealthReport& report);
// A merge patch that sets the action about one finding.
[[nodiscard]] std::string job_action_patch(std::string_view finding, const ReportedJobAction& action);

}  // namespace autopilot::kube
