// SPDX-License-Identifier: Apache-2.0

#include "controller/reconcilers/world_view.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "controller/planner/facts.hpp"
#include "controller/steps.hpp"
#include "core/action.hpp"
#include "kube/health_reports.hpp"

namespace autopilot::controller {

namespace {

// These checks judge the result of a test on the devices; all others are passive.
constexpr std::array<std::string_view, 9> kActiveChecks = {"gpu.diagnosis",
                                                           "gpu.dcgm",
                                                           "gpu.pcie_bandwidth",
                                                           "gpu.memory_bandwidth",
                                                           "gpu.compute",
                                                           "gpu.memory_test",
                                                           "gpu.sdc",
                                                           "gpu.p2p",
                                                           "gpu.nccl_allreduce"};

OpenCause cause_of(const kube::ReportedIncident& incident) {
  return {.incident = incident.id,
          .cause = incident.cause.empty() ? incident.reason : incident.cause,
          .blamed = incident.blamed,
          .action = parse_action(incident.action).value_or(Action::none),
          .since = incident.opened.value_or(WallTime{}),
          .is_passive = std::ranges::find(kActiveChecks, incident.check) == kActiveChecks.end()};
}

// The agent has determined which incidents hold the verdict EVICT. Acknowledged incidents are left to the
// person who acknowledged them.
std::vector<OpenCause> causes_of(const kube::ReportDetails& details) {
  std::vector<OpenCause> causes;
  for (const kube::ReportedIncident& incident : details.incidents) {
    const auto holds = std::ranges::find(details.evicting, incident.id, &kube::ReportedEviction::incident);
    if (holds == details.evicting.end() || holds->closed || holds->is_acknowledged) continue;
    if (!incident.is_injected) causes.push_back(cause_of(incident));
  }
  return causes;
}

std::map<std::string, WallTime, std::less<>> passed_by_all(const kube::ReportDetails& details) {
  std::map<std::string, std::map<std::string, WallTime>> by_test;
  for (const kube::ReportedPass& pass : details.passes) {
    if (!pass.time) continue;
    const auto [known, is_new] = by_test[pass.test].emplace(pass.gpu_uuid, *pass.time);
    if (!is_new) known->second = std::max(known->second, *pass.time);
  }
  std::map<std::string, WallTime, std::less<>> passed;
  for (const auto& [test, gpus] : by_test) {
    const auto has_passed = [&](const std::string& gpu) { return gpus.contains(gpu); };
    if (details.gpus.empty() || !std::ranges::all_of(details.gpus, has_passed)) continue;
    WallTime oldest = WallTime::max();
    for (const std::string& gpu : details.gpus)
      oldest = std::min(oldest, gpus.at(gpu));
    passed.emplace(test, oldest);
  }
  return passed;
}

}  // namespace

NodeReport parse_node_report(const kube::JsonObject& object) {
  const kube::HealthReport report = kube::parse_health_report(object);
  const kube::ReportDetails details = kube::parse_report_details(object);
  const auto has_not_looked = [](const kube::ReportedCheck& check) {
    return check.is_required && check.health == Health::unknown;
  };
  return {.meta = kube::parse_meta(object),
          .observed = report.observed,
          .written = report.written,
          .is_unknown = std::ranges::any_of(details.checks, has_not_looked),
          .gpus = static_cast<int>(details.gpus.size()),
          .causes = causes_of(details),
          .passed = passed_by_all(details)};
}

bool says_the_same(const NodeReport& one, const NodeReport& other) {
  return one.written == other.written && one.is_unknown == other.is_unknown && one.gpus == other.gpus &&
         one.causes == other.causes && one.passed == other.passed;
}

namespace {

// Limit of all accelerators together; a larger number is invalid.
constexpr std::int64_t kMostGpus = 1'000'000;

bool is_accelerator(std::string_view resource, const ViewOptions& options) {
  return std::ranges::any_of(options.accelerators, [&](std::string_view name) {
    return name.ends_with('*') ? resource.starts_with(name.substr(0, name.size() - 1)) : resource == name;
  });
}

int accelerators_of(const kube::Devices& devices, const ViewOptions& options) {
  std::int64_t sum = 0;
  for (const auto& [resource, count] : devices)
    if (is_accelerator(resource, options)) sum = std::min(kMostGpus, sum + count);
  return static_cast<int>(sum);
}

// A pod does not show the number of devices of a claim; it is at least one.
int gpus_of(const kube::Pod& pod, const ViewOptions& options) {
  const std::size_t claims = options.has_claims ? pod.device_claims.size() : 0;
  return accelerators_of(pod.devices, options) + static_cast<int>(claims);
}

std::string domain_of(const kube::Node& node, const ViewOptions& options) {
  if (const auto own = node.meta.labels.find(options.prefix + "/failure-domain");
      own != node.meta.labels.end())
    return own->second;
  for (const std::string& label : options.domain_labels)
    if (const auto found = node.meta.labels.find(label); found != node.meta.labels.end())
      return found->second;
  return {};
}

bool is_ready(const kube::Node& node) {
  return std::ranges::any_of(node.conditions, [](const kube::NodeCondition& condition) {
    return condition.type == "Ready" && condition.status == "True";
  });
}

std::optional<WallTime> time_in(const kube::Node& node, const std::string& name) {
  const auto text = annotation(node, name);
  return text ? parse_time(*text) : std::nullopt;
}

// The verdict of the report, or of the label without a report.
std::optional<Verdict> verdict_of(const kube::Node& node, const NodeReport* node_report,
                                  const std::string& prefix) {
  if (node_report != nullptr && node_report->written) return node_report->written;
  const auto label = node.meta.labels.find(prefix + "/gpuhealth");
  return label == node.meta.labels.end() ? std::nullopt : parse_verdict(label->second);
}

std::optional<Probation> probation_of(const kube::Node& node, const NodeMarks& marks) {
  const auto text = annotation(node, marks.probation);
  const auto is_ours = [&](const kube::Taint& taint) { return is_probation_taint(taint, marks); };
  if (!text || !std::ranges::any_of(node.taints, is_ours)) return std::nullopt;
  return parse_probation(*text);
}

std::optional<Owner> owner_of(const kube::Pod& pod) {
  if (pod.owner_uid.empty()) return std::nullopt;
  return Owner{.api_version = pod.owner_api_version,
               .kind = pod.owner_kind,
               .name = pod.owner_name,
               .uid = pod.owner_uid};
}

void add_accusation(const kube::Node& node, const NodeMarks& marks, Node& fact) {
  const auto text = annotation(node, marks.accused);
  const auto accusation = text ? parse_accusation(*text) : std::nullopt;
  if (!accusation) return;
  fact.causes.push_back({.incident = accusation->finding,
                         .cause = "job_" + accusation->effect,
                         .blamed = accusation->blamed,
                         .since = accusation->since,
                         .is_of_job = true,
                         .keeps_pods = accusation->keeps_pods});
}

// The pods of a JobSet's Jobs have its name in a label.
std::optional<Owner> set_of(const kube::Pod& pod) {
  const auto& labels = pod.meta.labels;
  const auto name = labels.find("jobset.sigs.k8s.io/jobset-name");
  const auto uid = labels.find("jobset.sigs.k8s.io/jobset-uid");
  if (name == labels.end() || uid == labels.end() || uid->second.empty()) return std::nullopt;
  return Owner{
      .api_version = "jobset.x-k8s.io/v1alpha2", .kind = "JobSet", .name = name->second, .uid = uid->second};
}

// Names become part of paths, and an agent can write any text; an invalid name counts as missing.
std::string name_or_none(const std::string& name) {
  constexpr std::size_t longest = 253;
  const auto may_stand = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  };
  const bool is_name =
      name.size() <= longest && !name.starts_with('.') && std::ranges::all_of(name, may_stand);
  return is_name ? name : std::string();
}

// The pod has not passed its gate.
bool is_gated(const kube::Pod& pod) {
  const auto gate = std::ranges::find(pod.init_containers, kGateContainer, &kube::InitContainer::name);
  return gate != pod.init_containers.end() && gate->exit_code != 0;
}

}  // namespace

Node node_fact(const kube::Node& node, const NodeReport* node_report, const Policy& policy,
               const ViewOptions& options) {
  const NodeMarks marks = node_marks(options.prefix);
  Node fact;
  fact.name = node.meta.name;
  fact.uid = node.meta.uid;
  fact.version = node.meta.version;
  fact.pool = policy.pool_of(node.meta.labels);
  fact.domain = domain_of(node, options);
  fact.gpus = accelerators_of(node.capacity, options);
  fact.is_ready = is_ready(node);
  fact.is_unschedulable = node.is_unschedulable;
  if (const auto held = annotation(node, marks.held)) fact.held = parse_hold(*held);
  fact.has_held_label = node.meta.labels.contains(marks.held);
  if (const auto hold = node.meta.labels.find(marks.hold); hold != node.meta.labels.end())
    fact.is_exempt = hold->second == kHoldDisabled;
  fact.probation = probation_of(node, marks);
  fact.verdict = verdict_of(node, node_report, options.prefix);
  fact.looked = time_in(node, options.prefix + "/checked-at");
  fact.wants_test = time_in(node, marks.wants_test);
  fact.granted_test = time_in(node, marks.may_test);
  fact.labels = node.meta.labels;
  fact.taints = node.taints;
  add_accusation(node, marks, fact);
  if (node_report == nullptr) return fact;
  // A node whose devices are only available through claims has no capacity for them.
  fact.gpus = std::max(fact.gpus, node_report->gpus);
  fact.is_unknown = node_report->is_unknown;
  fact.causes.insert(fact.causes.end(), node_report->causes.begin(), node_report->causes.end());
  fact.passed = node_report->passed;
  if (node_report->observed) fact.looked = std::max(node_report->observed, fact.looked);
  return fact;
}

Pod pod_fact(const kube::Pod& pod, const ViewOptions& options) {
  return {.name_space = pod.meta.name_space,
          .name = pod.meta.name,
          .uid = pod.meta.uid,
          .node = pod.node,
          .owner = owner_of(pod),
          .set = set_of(pod),
          .gpus = gpus_of(pod, options),
          .priority = pod.priority,
          .is_gated = is_gated(pod),
          .is_deleting = pod.meta.is_deleting,
          .has_deschedule = pod.meta.labels.contains(kDescheduleLabel),
          .placement = pod.placement};
}

Report report_fact(const kube::HealthCheckReport& report) {
  Report fact{.name = report.meta.name,
              .node = report.node,
              .pod_namespace = name_or_none(report.pod.name_space),
              .pod = name_or_none(report.pod.name),
              .pod_uid = report.pod.uid,
              .owner = {},
              .outcome = Outcome::could_not_look,
              .is_let_in = report.is_let_in,
              .failed = {},
              .message = report.message,
              .time = report.time.value_or(WallTime{})};
  if (report.job)
    fact.owner = Owner{.api_version = report.job->api_version,
                       .kind = report.job->kind,
                       .name = name_or_none(report.job->name),
                       .uid = report.job->uid};
  if (report.outcome) fact.outcome = parse_outcome(to_string(*report.outcome)).value_or(fact.outcome);
  for (const kube::ReportedFinding& finding : report.findings)
    if (finding.health == Health::failed || finding.health == Health::degraded)
      fact.failed.push_back({.test = finding.check, .reason = finding.reason, .message = finding.message});
  fact.phase = parse_report_phase(to_string(report.phase)).value_or(fact.phase);
  return fact;
}

bool is_of_interest(const kube::Pod& pod, const ViewOptions& options) {
  return !pod.is_over() && (gpus_of(pod, options) > 0 || pod.meta.labels.contains(kPodLabel));
}

bool says_the_same(Node one, const Node& other) {
  one.version = other.version;
  one.looked = other.looked;
  return one == other;
}

namespace {

void take_status(LedgerEntry& entry, const kube::PlanStatus& status) {
  // A phase of a newer version counts as open, so that a version that knows it can end the plan.
  entry.phase = parse_phase(status.phase).value_or(Phase::waiting);
  entry.brake = status.brake;
  entry.message = status.message;
  entry.holds = status.holds;
  entry.is_released = status.is_released;
  entry.updated = status.updated.value_or(entry.created);
  entry.begun = status.begun;
  if (status.would_hold) {
    entry.holds = true;
    entry.begun = status.would_hold;
  }
  entry.returned = status.returned;
  entry.latest_evidence = status.latest_evidence.value_or(entry.latest_evidence);
  entry.evidence = status.evidence;
  entry.tests = status.tests;
  entry.jobs = status.jobs;
  entry.steps = status.steps;
  entry.budget = status.budget;
  entry.spare = status.spare;
  for (const kube::PlanStep& step : status.done)
    if (const auto kind = parse_action_kind(step.action))
      entry.done.push_back(
          {.kind = *kind, .target = step.target, .at = step.at, .is_counted = step.is_counted});
}

}  // namespace

LedgerEntry entry_fact(const kube::RemediationPlan& plan) {
  LedgerEntry entry;
  entry.name = plan.meta.name;
  entry.version = plan.meta.version;
  entry.node = plan.spec.node;
  entry.node_uid = plan.spec.node_uid;
  entry.pool = plan.spec.pool;
  entry.domain = plan.spec.domain;
  entry.cause = plan.spec.cause;
  entry.created = plan.spec.created;
  entry.updated = plan.spec.created;
  entry.evidence = plan.spec.evidence;
  entry.tests = plan.spec.tests;
  entry.jobs = plan.spec.jobs;
  entry.steps = plan.spec.steps;
  entry.budget = plan.spec.budget;
  if (plan.status) take_status(entry, *plan.status);
  return entry;
}

kube::PlanSpec plan_spec(const LedgerEntry& entry) {
  return {.node = entry.node,
          .node_uid = entry.node_uid,
          .pool = entry.pool,
          .domain = entry.domain,
          .cause = entry.cause,
          .created = entry.created,
          .evidence = entry.evidence,
          .tests = entry.tests,
          .jobs = entry.jobs,
          .steps = entry.steps,
          .budget = entry.budget};
}

kube::PlanStatus plan_status(const LedgerEntry& entry, std::string_view problem) {
  kube::PlanStatus status;
  status.phase = to_string(entry.phase);
  status.brake = entry.brake;
  status.message = entry.message;
  status.problem = problem;
  status.holds = entry.holds;
  status.is_released = entry.is_released;
  status.updated = entry.updated;
  status.begun = entry.begun;
  // The plan holds nothing, and counts only against recorded plans.
  if (entry.phase == Phase::recorded) {
    status.would_hold = status.holds ? status.begun : std::nullopt;
    status.holds = false;
    status.begun.reset();
  }
  status.returned = entry.returned;
  status.latest_evidence = entry.latest_evidence;
  status.evidence = entry.evidence;
  status.tests = entry.tests;
  status.jobs = entry.jobs;
  status.steps = entry.steps;
  status.budget = entry.budget;
  status.spare = entry.spare;
  for (const DoneStep& step : entry.done)
    status.done.push_back({.action = std::string(to_string(step.kind)),
                           .target = step.target,
                           .at = step.at,
                           .is_counted = step.is_counted});
  return status;
}

}  // namespace autopilot::controller
