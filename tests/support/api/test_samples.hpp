// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "api/preflight.hpp"
#include "api/v1.hpp"

// One of each object with every member set, for the tests of this folder and the validation against
// openapi.yaml.
namespace autopilot::api::testing {

using namespace std::chrono_literals;

[[nodiscard]] inline WallTime sample_time(int seconds = 0) {
  return WallTime(1763694245678ms) + std::chrono::seconds(seconds);
}

[[nodiscard]] inline Subject sample_gpu() {
  Subject subject;
  subject.kind = SubjectKind::gpu;
  subject.key = "0000:3b:00.0";
  subject.index = 3;
  subject.uuid = "GPU-8e1fa1b0-0000-4000-8000-000000000003";
  subject.serial = "1650000000003";
  return subject;
}

[[nodiscard]] inline Observations sample_observations() {
  Observation number;
  number.name = "row_remap.pending";
  number.subject = sample_gpu();
  number.value = std::int64_t{1};
  number.unit = "count";
  number.source = "nvml";
  number.time.wall = sample_time();
  Observation measured = number;
  measured.name = "temperature";
  measured.value = 5.0;
  measured.unit = "celsius";
  Observation word = number;
  word.name = "state";
  word.value = std::string("a \"word\" \\ with\nlines \x01 and \xc3\xa4");
  Observation flag = number;
  flag.name = "is_busy";
  flag.value = true;
  Observation missing = number;
  missing.name = "ecc.volatile";
  missing.value.reset();
  missing.missing = "not_supported";
  Observation event = word;
  event.name = "record";
  event.sequence = 18'446'744'073'709'551'615U;
  event.attributes = {{"line", Value(std::string("NVRM: Xid"))}, {"pid", Value(std::int64_t{-1})}};
  return {number, measured, word, flag, missing, event};
}

[[nodiscard]] inline Finding sample_finding() {
  Finding finding;
  finding.subject = sample_gpu();
  finding.health = Health::degraded;
  finding.reason = "row_remap_pending";
  finding.message = "GPU 3 waits for a reset to remap 1 row";
  finding.evidence = {{"value", Value(std::int64_t{1})},
                      {"threshold", Value(0.5)},
                      {"thresholdSource", Value(std::string("catalog"))},
                      {"exact", Value(true)}};
  finding.action = Action::drain_then_reset_gpu;
  finding.since = sample_time(-60);
  finding.last_seen = sample_time(-1);
  finding.clears_when = "when the GPU is reset or the machine reboots";
  finding.injected = true;
  finding.held = true;
  return finding;
}

[[nodiscard]] inline CheckResult sample_result() {
  CheckResult result;
  result.check = "gpu.row_remap";
  result.health = Health::degraded;
  result.witnesses = {"nvml"};
  result.duration = 12'500us;
  result.completed = sample_time();
  result.required = true;
  result.findings = {sample_finding()};
  result.observations = sample_observations();
  return result;
}

[[nodiscard]] inline Incident sample_incident() {
  Incident incident;
  incident.id = "0a1b2c3d-7";
  incident.state = IncidentState::closed;
  incident.check = "gpu.row_remap";
  incident.reason = "row_remap_pending";
  incident.blamed = sample_gpu();
  incident.health = Health::degraded;
  incident.action = Action::drain_then_reset_gpu;
  incident.confidence = 0.9;
  incident.summary = "GPU 3 needs a reset";
  incident.opened = sample_time(-60);
  incident.updated = sample_time(-30);
  incident.closed = sample_time();
  incident.closed_by = "gpu_reset";
  incident.acknowledged = {"alice (uid 1000)", sample_time(-20), "the card is ordered"};
  incident.injected = true;
  incident.cause = "memory_uncorrected";
  incident.end = FaultEnd::hardware;
  incident.because = "The memory of the GPU reports that it lost data.";
  incident.members = {{"gpu.row_remap", sample_finding(), true, sample_time(-1)}};
  incident.further = 3;
  GpuUser& gpu_user = incident.gpu_users.emplace_back();
  gpu_user.pid = 4200;
  gpu_user.started_ticks = 7700;
  gpu_user.process = "python3";
  gpu_user.owner = {
      "0123456789ab", "8b7c1f8e-0d55-4f9c-a2a3-1d2f3a4b5c6d", "ml", "train-0", "slurm 4711", ""};
  gpu_user.first_seen = sample_time(-90);
  gpu_user.last_seen = sample_time(-60);
  GpuUser holder;
  holder.owner.pod_namespace = "ml";
  holder.owner.pod = "idle-0";
  holder.first_seen = holder.last_seen = sample_time(-60);
  holder.owner.candidate_by = "api";
  incident.gpu_users.push_back(holder);
  return incident;
}

[[nodiscard]] inline NodeSnapshot sample_node() {
  NodeSnapshot node;
  node.node = "node-1";
  node.boot_id = "0a1b2c3d-0000-4000-8000-000000000000";
  node.time = sample_time();
  node.generation = 42;
  node.simulated = true;
  node.profile = "local";
  node.health = Health::degraded;
  node.verdict = Verdict::warn;
  node.coverage = {14, 15, {"CAP_SYSLOG"}};
  CheckResult quiet;
  quiet.check = "host.memory";
  quiet.health = Health::unknown;
  node.results = {sample_result(), quiet};
  node.incidents = {sample_incident()};
  node.self = {.checks_run = 1,
               .checks_late = 2,
               .results_dropped = 3,
               .lanes = 4,
               .lanes_stuck = 5,
               .helpers_stuck = 6,
               .kernel_records_read = 7,
               .kernel_records_lost = 8,
               .kernel_records_missed = 9,
               .driver_calls = 10,
               .journal_lag_seconds = 1.5,
               .journal_dropped = 11,
               .journal_durable = false,
               .journal_problem = "the disk is full",
               .configuration_refused = 12,
               .pod_resources_problem = "no right",
               .cluster = ClusterStatus{13, 14, 15, "no right either"}};
  return node;
}

// Without accelerator, results and incidents.
[[nodiscard]] inline NodeSnapshot sample_empty_node() {
  NodeSnapshot node;
  node.node = "node-2";
  node.profile = "local";
  node.time = sample_time();
  return node;
}

[[nodiscard]] inline CheckSummary sample_check() {
  CheckSummary check;
  check.info.id = "gpu.row_remap";
  check.info.title = "GPU memory row remapping";
  check.info.tags = {"gpu", "memory"};
  check.info.period = 30s;
  check.info.deadline = 2500ms;
  check.info.window = 10min;
  check.info.cost = Cost::moderate;
  check.info.witnesses = {"nvml"};
  check.info.rights = {"CAP_SYSLOG"};
  check.info.needs_window = true;
  check.required = true;
  check.health = Health::failed;
  check.completed = sample_time();
  return check;
}

[[nodiscard]] inline Operation sample_operation() {
  Operation operation;
  operation.id = "0a1b2c3d-op-1";
  operation.kind = "self_test";
  operation.owner = "uid 0";
  operation.state = OperationState::succeeded;
  operation.reservation = {sample_gpu()};
  operation.progress = 1;
  operation.message = "done";
  operation.created = sample_time(-3);
  operation.started = sample_time(-2);
  operation.finished = sample_time();
  operation.deadline = 60s;
  operation.observations = sample_observations();
  operation.simulated = true;
  return operation;
}

[[nodiscard]] inline Event sample_event() {
  Event event;
  event.id = 77;
  event.time = sample_time();
  event.boot_id = "0a1b2c3d-0000-4000-8000-000000000000";
  event.kind = EventKind::finding_raised;
  event.check = "gpu.row_remap";
  event.subject = sample_gpu();
  event.health = Health::degraded;
  event.reason = "row_remap_pending";
  event.message = "GPU 3 waits for a reset";
  event.details = {{"value", Value(std::int64_t{1})}};
  event.injected = true;
  event.simulated = true;
  return event;
}

[[nodiscard]] inline TestInfo sample_test() {
  return {"storage.pvc", "A volume from each storage class", std::chrono::minutes{3}};
}

[[nodiscard]] inline OperationRequest sample_operation_request() {
  return {"self_test", {sample_gpu()}, 90s};
}

[[nodiscard]] inline PreflightResult sample_preflight_result() {
  PreflightResult result;
  result.outcome = PreflightOutcome::failed;
  result.node = "gpu-7";
  result.fresh = {"gpu.pcie_bandwidth"};
  result.tests = {{"gpu.pcie_bandwidth", PreflightState::fresh, "passed 2h ago", 2h},
                  {"gpu.memory_bandwidth", PreflightState::failed, "GPU 3 is slow", {}}};
  result.gpus = {"GPU-1", "GPU-2"};
  result.report = "gpu-7-0123456789";
  result.message = "GPU 3 is slow";
  result.choice = "2 of 3 diagnostics are chosen by the history of the node";
  result.left_out = {{"gpu.sdc", "it would take 2 GPU-hours and is expected to save 1"}};
  result.simulated = true;
  result.is_durable = false;
  return result;
}

[[nodiscard]] inline InjectRequest sample_inject_request() {
  return {"row_remap_pending", sample_gpu(), 1.0, 30s};
}

}  // namespace autopilot::api::testing
