// SPDX-License-Identifier: Apache-2.0
#include "incidents/gpu_users.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

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

}  // namespace autopilot::incidents
