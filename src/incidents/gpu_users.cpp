// SPDX-License-Identifier: Apache-2.0
#include "incidents/gpu_users.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/parse.hpp"
#include "incidents/devices.hpp"
#include "incidents/evidence.hpp"

namespace autopilot::incidents {
namespace {

void add_those_of(const std::vector<Workload>& workloads, WallTime from, WallTime to,
                  std::vector<Workload>& found) {
  for (const Workload& one : workloads) {
    if (one.first_seen - GpuUsers::kBetweenLooks > to || one.last_seen + GpuUsers::kBetweenLooks < from)
      continue;
    const auto known = std::ranges::find_if(found, [&](const Workload& other) { return other.is_same(one); });
    if (known == found.end()) found.push_back(one);
  }
}

bool is_inside(std::string_view part, std::string_view whole) {
  return part == whole || (part.starts_with(whole) && part[whole.size()] == '/');
}

// True if a fault of `subject` concerns the workloads observed at `place`.
bool concerns(const Subject& subject, const Subject& place) {
  return is_inside(subject.key, place.key) || is_inside(place.key, subject.key);
}

WallTime end_of(const Finding& finding) {
  return std::max(finding.since, finding.last_seen);
}

std::vector<Workload> users_of(const IncidentMember& member, const GpuUsers& users) {
  const Finding& finding = member.finding;
  const Subject device = device_of(finding.subject);
  const bool is_of_all = device.kind == SubjectKind::nvswitch ||
                         (device.kind == SubjectKind::host && member.check.starts_with("gpu."));
  const bool is_instance = finding.subject.kind == SubjectKind::gpu_instance;
  if (device.kind == SubjectKind::gpu)
    return users.of(is_instance ? finding.subject : device, finding.since, end_of(finding));
  return is_of_all ? users.of_any(finding.since, end_of(finding)) : std::vector<Workload>{};
}

// The program in the log line. If it was not observed: its name and pid from the line, and the pod that held
// the GPU if it was the only one.
std::vector<Workload> program_among(std::vector<Workload> workloads, const Finding& finding) {
  const auto pid = parse_number<std::int64_t>(word_of(finding, "pid"));
  if (!pid) return workloads;
  const auto of_others =
      std::ranges::stable_partition(workloads, [&](const Workload& one) { return one.pid == *pid; });
  if (of_others.begin() != workloads.begin()) {
    workloads.erase(of_others.begin(), workloads.end());
    return workloads;
  }
  std::erase_if(workloads, [](const Workload& one) { return one.is_process(); });
  if (workloads.size() > 1) workloads.clear();
  Workload& named = workloads.emplace_back();
  named.pid = *pid;
  named.process = word_of(finding, "process");
  named.first_seen = finding.since;
  named.last_seen = end_of(finding);
  return workloads;
}

// True if the workload is new or has new details.
bool remember(Workload workload, std::vector<Workload>& workloads) {
  // An observed process replaces its pod in the list.
  const auto is_more_specific = [&](const Workload& one) {
    return one.is_process() && !workload.is_process() && is_same_pod(one.owner, workload.owner);
  };
  if (std::ranges::any_of(workloads, is_more_specific)) return false;
  std::erase_if(workloads, [&](const Workload& one) {
    return workload.is_process() && !one.is_process() && is_same_pod(one.owner, workload.owner);
  });
  const auto known =
      std::ranges::find_if(workloads, [&](const Workload& one) { return one.is_same(workload); });
  if (known == workloads.end()) {
    if (workloads.size() == Incident::kMaxWorkloads) return false;
    workloads.push_back(std::move(workload));
    return true;
  }
  if (workload.is_process() && workload.started_ticks == 0) return false;
  WorkloadOwner owner = known->owner;
  learn(owner, workload.owner);
  const bool is_news = known->owner != owner;
  workload.owner = std::move(owner);
  workload.first_seen = std::min(workload.first_seen, known->first_seen);
  *known = std::move(workload);
  return is_news;
}

// For a fault of a program, a pod without a process is a guess: it was the only one on the GPU. Removes
// guesses once the program was observed. True if one was removed.
bool forget_guesses(const std::vector<Workload>& found, std::vector<Workload>& workloads) {
  const bool is_found = std::ranges::any_of(
      found, [](const Workload& one) { return one.is_process() && one.started_ticks != 0; });
  return is_found && std::erase_if(workloads, [](const Workload& one) { return !one.is_process(); }) > 0;
}

}  // namespace

bool GpuUsers::note(const Observations& observations) {
  bool is_any = false;
  for (const Observation& observation : observations) {
    auto workload = workload_in(observation);
    if (!workload) continue;
    is_any = true;
    note(observation.subject, *std::move(workload));
  }
  return is_any;
}

void GpuUsers::note(const Subject& gpu, Workload workload) {
  auto& known = by_gpu_[gpu];
  std::erase_if(known, [&](const Workload& one) { return one.last_seen + kKept < workload.last_seen; });
  const auto same = std::ranges::find_if(known, [&](const Workload& one) { return one.is_same(workload); });
  if (same != known.end()) {
    same->last_seen = workload.last_seen;
    // The clock may have been set back.
    same->first_seen = std::min(same->first_seen, workload.last_seen);
    learn(same->owner, workload.owner);
    return;
  }
  // Drop pods before processes: a process identifies its pod too.
  const auto worth = [](const Workload& one) { return std::pair(one.last_seen, one.is_process()); };
  if (known.size() == kMaxPerGpu) known.erase(std::ranges::min_element(known, {}, worth));
  known.push_back(std::move(workload));
}

std::vector<Workload> GpuUsers::of(const Subject& gpu, WallTime from, WallTime to) const {
  std::vector<Workload> found;
  for (const auto& [place, known] : by_gpu_)
    if (concerns(gpu, place)) add_those_of(known, from, to, found);
  std::vector<Workload> somewhere;
  if (const auto unplaced = by_gpu_.find(host_subject()); unplaced != by_gpu_.end())
    add_those_of(unplaced->second, from, to, somewhere);
  if (somewhere.size() == 1) add_those_of(somewhere, from, to, found);
  std::ranges::stable_sort(found, {}, &Workload::first_seen);
  return found;
}

std::vector<Workload> GpuUsers::of_any(WallTime from, WallTime to) const {
  std::vector<Workload> found;
  for (const auto& [gpu, known] : by_gpu_)
    add_those_of(known, from, to, found);
  for (Workload& one : found)
    one.owner.candidate_by.clear();
  return found;
}

bool add_workloads(Incident& incident, const IncidentMember& member, const GpuUsers& users) {
  if (incident.injected) return false;
  auto workloads = users_of(member, users);
  if (incident.end == FaultEnd::application) workloads = program_among(std::move(workloads), member.finding);
  bool has_more = incident.end == FaultEnd::application && forget_guesses(workloads, incident.workloads);
  for (Workload& workload : workloads)
    has_more = remember(std::move(workload), incident.workloads) || has_more;
  return has_more;
}

bool add_workloads(Incident& incident, const GpuUsers& users) {
  bool has_more = false;
  for (const IncidentMember& member : incident.members)
    has_more = add_workloads(incident, member, users) || has_more;
  return has_more;
}

}  // namespace autopilot::incidents
