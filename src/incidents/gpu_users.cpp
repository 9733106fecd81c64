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

void add_those_of(const std::vector<GpuUser>& gpu_users, WallTime from, WallTime to,
                  std::vector<GpuUser>& found) {
  for (const GpuUser& one : gpu_users) {
    if (one.first_seen - GpuUsers::kBetweenLooks > to || one.last_seen + GpuUsers::kBetweenLooks < from)
      continue;
    const auto known = std::ranges::find_if(found, [&](const GpuUser& other) { return other.is_same(one); });
    if (known == found.end()) found.push_back(one);
  }
}

bool is_inside(std::string_view part, std::string_view whole) {
  return part == whole || (part.starts_with(whole) && part[whole.size()] == '/');
}

// True if a fault of `subject` concerns the GPU users observed at `place`.
bool concerns(const Subject& subject, const Subject& place) {
  return is_inside(subject.key, place.key) || is_inside(place.key, subject.key);
}

WallTime end_of(const Finding& finding) {
  return std::max(finding.since, finding.last_seen);
}

std::vector<GpuUser> users_of(const IncidentMember& member, const GpuUsers& users) {
  const Finding& finding = member.finding;
  const Subject device = device_of(finding.subject);
  const bool is_of_all = device.kind == SubjectKind::nvswitch ||
                         (device.kind == SubjectKind::host && member.check.starts_with("gpu."));
  const bool is_instance = finding.subject.kind == SubjectKind::gpu_instance;
  if (device.kind == SubjectKind::gpu)
    return users.of(is_instance ? finding.subject : device, finding.since, end_of(finding));
  return is_of_all ? users.of_any(finding.since, end_of(finding)) : std::vector<GpuUser>{};
}

// The program in the log line. If it was not observed: its name and pid from the line, and the pod that held
// the GPU if it was the only one.
std::vector<GpuUser> program_among(std::vector<GpuUser> gpu_users, const Finding& finding) {
  const auto pid = parse_number<std::int64_t>(word_of(finding, "pid"));
  if (!pid) return gpu_users;
  const auto of_others =
      std::ranges::stable_partition(gpu_users, [&](const GpuUser& one) { return one.pid == *pid; });
  if (of_others.begin() != gpu_users.begin()) {
    gpu_users.erase(of_others.begin(), gpu_users.end());
    return gpu_users;
  }
  std::erase_if(gpu_users, [](const GpuUser& one) { return one.is_process(); });
  if (gpu_users.size() > 1) gpu_users.clear();
  GpuUser& named = gpu_users.emplace_back();
  named.pid = *pid;
  named.process = word_of(finding, "process");
  named.first_seen = finding.since;
  named.last_seen = end_of(finding);
  return gpu_users;
}

// True if the GPU user is new or has new details.
bool remember(GpuUser gpu_user, std::vector<GpuUser>& gpu_users) {
  // An observed process replaces its pod in the list.
  const auto is_more_specific = [&](const GpuUser& one) {
    return one.is_process() && !gpu_user.is_process() && is_same_pod(one.owner, gpu_user.owner);
  };
  if (std::ranges::any_of(gpu_users, is_more_specific)) return false;
  std::erase_if(gpu_users, [&](const GpuUser& one) {
    return gpu_user.is_process() && !one.is_process() && is_same_pod(one.owner, gpu_user.owner);
  });
  const auto known =
      std::ranges::find_if(gpu_users, [&](const GpuUser& one) { return one.is_same(gpu_user); });
  if (known == gpu_users.end()) {
    if (gpu_users.size() == Incident::kMaxGpuUsers) return false;
    gpu_users.push_back(std::move(gpu_user));
    return true;
  }
  if (gpu_user.is_process() && gpu_user.started_ticks == 0) return false;
  GpuUserOwner owner = known->owner;
  learn(owner, gpu_user.owner);
  const bool is_news = known->owner != owner;
  gpu_user.owner = std::move(owner);
  gpu_user.first_seen = std::min(gpu_user.first_seen, known->first_seen);
  *known = std::move(gpu_user);
  return is_news;
}

// For a fault of a program, a pod without a process is a guess: it was the only one on the GPU. Removes
// guesses once the program was observed. True if one was removed.
bool forget_guesses(const std::vector<GpuUser>& found, std::vector<GpuUser>& gpu_users) {
  const bool is_found = std::ranges::any_of(
      found, [](const GpuUser& one) { return one.is_process() && one.started_ticks != 0; });
  return is_found && std::erase_if(gpu_users, [](const GpuUser& one) { return !one.is_process(); }) > 0;
}

}  // namespace

bool GpuUsers::note(const Observations& observations) {
  bool is_any = false;
  for (const Observation& observation : observations) {
    auto gpu_user = gpu_user_in(observation);
    if (!gpu_user) continue;
    is_any = true;
    note(observation.subject, *std::move(gpu_user));
  }
  return is_any;
}

void GpuUsers::note(const Subject& gpu, GpuUser gpu_user) {
  auto& known = by_gpu_[gpu];
  std::erase_if(known, [&](const GpuUser& one) { return one.last_seen + kKept < gpu_user.last_seen; });
  const auto same = std::ranges::find_if(known, [&](const GpuUser& one) { return one.is_same(gpu_user); });
  if (same != known.end()) {
    same->last_seen = gpu_user.last_seen;
    // The clock may have been set back.
    same->first_seen = std::min(same->first_seen, gpu_user.last_seen);
    learn(same->owner, gpu_user.owner);
    return;
  }
  // Drop pods before processes: a process identifies its pod too.
  const auto worth = [](const GpuUser& one) { return std::pair(one.last_seen, one.is_process()); };
  if (known.size() == kMaxPerGpu) known.erase(std::ranges::min_element(known, {}, worth));
  known.push_back(std::move(gpu_user));
}

std::vector<GpuUser> GpuUsers::of(const Subject& gpu, WallTime from, WallTime to) const {
  std::vector<GpuUser> found;
  for (const auto& [place, known] : by_gpu_)
    if (concerns(gpu, place)) add_those_of(known, from, to, found);
  std::vector<GpuUser> somewhere;
  if (const auto unplaced = by_gpu_.find(host_subject()); unplaced != by_gpu_.end())
    add_those_of(unplaced->second, from, to, somewhere);
  if (somewhere.size() == 1) add_those_of(somewhere, from, to, found);
  std::ranges::stable_sort(found, {}, &GpuUser::first_seen);
  return found;
}

std::vector<GpuUser> GpuUsers::of_any(WallTime from, WallTime to) const {
  std::vector<GpuUser> found;
  for (const auto& [gpu, known] : by_gpu_)
    add_those_of(known, from, to, found);
  for (GpuUser& one : found)
    one.owner.candidate_by.clear();
  return found;
}

bool add_gpu_users(Incident& incident, const IncidentMember& member, const GpuUsers& users) {
  if (incident.injected) return false;
  auto gpu_users = users_of(member, users);
  if (incident.end == FaultEnd::application) gpu_users = program_among(std::move(gpu_users), member.finding);
  bool has_more = incident.end == FaultEnd::application && forget_guesses(gpu_users, incident.gpu_users);
  for (GpuUser& gpu_user : gpu_users)
    has_more = remember(std::move(gpu_user), incident.gpu_users) || has_more;
  return has_more;
}

bool add_gpu_users(Incident& incident, const GpuUsers& users) {
  bool has_more = false;
  for (const IncidentMember& member : incident.members)
    has_more = add_gpu_users(incident, member, users) || has_more;
  return has_more;
}

}  // namespace autopilot::incidents
