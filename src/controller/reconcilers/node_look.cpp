// SPDX-License-Identifier: Apache-2.0
#include "controller/reconcilers/node_look.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/action.hpp"
#include "kube/health_reports.hpp"

namespace autopilot::controller {
namespace {

// They judge what a test has found on the devices; all others look at what happens by itself.
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

// The agent has found out which of its incidents take the node out of service. Those that a person has seen
// are that person's business.
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

NodeLook parse_node_look(const kube::JsonObject& object) {
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

bool says_the_same(const NodeLook& one, const NodeLook& other) {
  return one.written == other.written && one.is_unknown == other.is_unknown && one.gpus == other.gpus &&
         one.causes == other.causes && one.passed == other.passed;
}

}  // namespace autopilot::controller
