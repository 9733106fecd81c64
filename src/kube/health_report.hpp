// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/health.hpp"

// The displayed part of a NodeHealthReport, which agents write
// (deploy/helm/autopilot/crds/nodehealthreports.yaml). A field that is missing or has another type gets its
// default here. Texts are untrusted: any client that can write the object can set them.
namespace autopilot::kube {

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

}  // namespace autopilot::kube
