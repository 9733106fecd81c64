// SPDX-License-Identifier: Apache-2.0
#include "cli/why/state_evidence.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "cli/output/job_pages.hpp"
#include "cli/why/call_trace.hpp"
#include "cli/why/log_evidence.hpp"
#include "core/gpu_user.hpp"
#include "core/parse.hpp"
#include "host/process/processes.hpp"

namespace autopilot::cli {

using why::Evidence;
using why::Kind;

namespace {

constexpr Duration kJustNow = std::chrono::seconds{30};
constexpr std::size_t kMaxProcesses = 512;

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

Kind kind_of_finding(const Finding& finding) {
  static constexpr std::array<std::string_view, 6> kShortages{"filesystem_full",  "filesystem_nearly_full",
                                                              "inodes_exhausted", "inodes_low",
                                                              "memory_pressure",  "kernel_limit_reached"};
  static constexpr std::array<std::string_view, 5> kEnds{
      "kernel_panic", "kernel_crash_record", "reset_by_hardware", "reset_by_watchdog", "boot_error_record"};
  if (is_one_of(kShortages, finding.reason)) return Kind::shortage;
  if (is_one_of(kEnds, finding.reason)) return Kind::machine_ended;
  if (finding.reason == "task_hung") return Kind::blocked;
  if (finding.reason == kMachineMemory) return Kind::killed_for_memory;
  if (is_record(finding) && finding.reason == "xid_app") return Kind::program_error;
  const bool has_line = find_attribute(finding.evidence, "line") != nullptr;
  return finding.subject.kind == SubjectKind::host && !has_line ? Kind::state : Kind::device_error;
}

// Its record was written in the boot before this one, or by its end.
bool is_about_previous_boot(const Finding& finding) {
  static constexpr std::array<std::string_view, 4> kReasons{"kernel_crash_record", "reset_by_hardware",
                                                            "reset_by_watchdog", "boot_error_record"};
  return is_one_of(kReasons, finding.reason);
}

Evidence of_member(const IncidentMember& member, const Incident& incident, const std::string& source,
                   WallTime now) {
  Evidence evidence;
  evidence.finding = member.finding;
  evidence.kind = kind_of_finding(member.finding);
  evidence.source = source;
  evidence.users = incident.gpu_users;
  evidence.boots_ago = is_about_previous_boot(member.finding) ? 1 : 0;
  // What a check makes of a line is as old as the line.
  const bool has_line = find_attribute(member.finding.evidence, "line") != nullptr;
  // A kill is an event, and a finding of checks that ran just now can be older only if it is one.
  const bool is_old = member.finding.since + kJustNow < now;
  const bool is_event =
      has_line || evidence.kind == Kind::killed_for_memory || (is_old && source == kOfThisRun);
  if (is_event) evidence.finding.last_seen = member.finding.since;
  evidence.holds_now =
      incident.state != IncidentState::closed && !member.cleared && !is_record(member.finding) && !is_event;
  if (evidence.holds_now && member.finding.since + kJustNow >= now) evidence.finding.since = WallTime{};
  return evidence;
}

bool is_of_target(const GpuUser& user, const why::Target& target) {
  if (user.is_process() && std::ranges::find(target.pids, user.pid) != target.pids.end()) return true;
  if (!target.process.empty() && user.process == target.process) return true;
  return std::ranges::any_of(
      target.owners, [&user](const GpuUserOwner& wanted) { return why::is_same_owner(wanted, user.owner); });
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20U;
  return std::to_string(bytes / kMebibyte) + " MiB";
}

// The counter has no time: the kill may be as old as the group.
Evidence of_group(const host::KilledGroup& group) {
  Evidence evidence;
  evidence.kind = Kind::state;
  evidence.source = "control group";
  Finding& finding = evidence.finding;
  finding.health = Health::degraded;
  finding.reason = kMemoryLimit;
  finding.action = Action::check_application;
  const std::string who = group_text(group.owner, group.path);
  finding.message =
      "The kernel killed " +
      (group.kills == 1 ? std::string("a process") : std::to_string(group.kills) + " processes") + " of " +
      who + " for lack of memory since the group was created" +
      (group.limit_bytes ? "; its limit is " + size_text(*group.limit_bytes) : "") + ".";
  finding.evidence = {{"cgroup", group.path}, {"count", static_cast<std::int64_t>(group.kills)}};
  GpuUser user;
  user.owner = group.owner;
  evidence.users.push_back(std::move(user));
  return evidence;
}

// The counter has no time either.
Evidence of_refusing_group(const host::RefusingGroup& group) {
  Evidence evidence;
  evidence.kind = Kind::state;
  evidence.source = "control group";
  Finding& finding = evidence.finding;
  finding.health = Health::degraded;
  finding.reason = kPidsLimit;
  finding.message = "The kernel refused " + std::to_string(group.refused) + " processes or threads of " +
                    group_text(group.owner, group.path) + " since the group was created" +
                    (group.limit ? "; its limit is " + std::to_string(*group.limit) : "") + ".";
  finding.evidence = {{"cgroup", group.path}, {"count", static_cast<std::int64_t>(group.refused)}};
  GpuUser user;
  user.owner = group.owner;
  evidence.users.push_back(std::move(user));
  return evidence;
}

struct StandingText {
  Kind kind;
  std::string_view reason;
  std::string text;
};

std::optional<StandingText> text_of(const host::TaskState& task) {
  switch (task.state) {
    case 'T':
      return StandingText{Kind::stopped, "process_stopped",
                          "is stopped by a signal (SIGSTOP or SIGTSTP) and does not run"};
    case 't':
      return StandingText{Kind::stopped, "process_traced", "is stopped by a debugger and does not run"};
    case 'Z':
      return StandingText{
          Kind::stopped, "process_ended",
          "has ended, and its parent " + std::to_string(task.parent) + " has not collected its exit status"};
    default:
      return std::nullopt;
  }
}

Evidence of_standing(const host::TaskState& task, const StandingText& standing) {
  Evidence evidence;
  evidence.kind = standing.kind;
  evidence.source = "process table";
  evidence.holds_now = true;
  evidence.finding.health = Health::degraded;
  evidence.finding.reason = standing.reason;
  evidence.finding.message = task.name + " (" + std::to_string(task.pid) + ") " + standing.text + ".";
  evidence.finding.evidence = {{"pid", task.pid}, {"process", task.name}};
  return evidence;
}

// What the function of the kernel shows. Empty: the function does not show it.
std::string meaning_of(std::string_view waits_in) {
  static constexpr std::array<std::string_view, 3> kOfVfork{"kernel_clone", "_do_fork", "do_fork"};
  static constexpr std::array<std::string_view, 3> kOfFreezer{"hrtimer_nanosleep", "__refrigerator",
                                                              "do_freezer_trap"};
  if (is_one_of(kOfVfork, waits_in)) return ": it waits for a process that it started with vfork";
  if (is_one_of(kOfFreezer, waits_in)) return "; its control group is probably frozen";
  const WaitsFor found = waits_for({.name = waits_in, .module = {}});
  if (found.is_certain) return ": " + std::string(wait_sentence(found.what));
  return found.what.empty() ? "" : ": it waits for a disk or a file server";
}

Evidence of_blocked(const host::BlockedTask& blocked) {
  const std::string place = blocked.waits_in.empty() ? "" : " in " + blocked.waits_in;
  return of_standing(blocked.task, {Kind::blocked, "task_hung",
                                    "is blocked in the kernel" + place + meaning_of(blocked.waits_in)});
}

bool is_of_pids(const host::TaskState& task, const why::Target& target) {
  return std::ranges::find(target.pids, task.pid) != target.pids.end();
}

// It did not run between the readings.
bool was_blocked(const host::BlockedTask& now, const host::Tasks& before) {
  return std::ranges::any_of(before.blocked, [&now](const host::BlockedTask& then) {
    return then.task.pid == now.task.pid && then.switches == now.switches;
  });
}

// Of the whole machine only processes of containers, pods and batch jobs count: a person stops others on
// purpose.
bool is_of_workload(const host::TaskState& task, const host::Files& files) {
  const auto process = host::read_gpu_user(files, task.pid, {});
  return process && process->owner != GpuUserOwner{};
}

}  // namespace

std::vector<Evidence> evidence_in(std::span<const Incident> incidents, const std::string& source,
                                  WallTime now, WallTime since) {
  std::vector<Evidence> all;
  for (const Incident& incident : incidents) {
    if (incident.closed && std::max(*incident.closed, incident.updated) < since) continue;
    for (const IncidentMember& member : incident.members)
      all.push_back(of_member(member, incident, source, now));
  }
  return all;
}

std::vector<Subject> gpus_of(const why::Target& target, const NodeSnapshot& node) {
  std::vector<Subject> gpus;
  for (const CheckResult& result : node.results)
    for (const Observation& observation : result.observations) {
      const auto user = gpu_user_in(observation);
      if (!user || !is_of_target(*user, target)) continue;
      if (std::ranges::find(gpus, observation.subject) == gpus.end()) gpus.push_back(observation.subject);
    }
  return gpus;
}

std::vector<Evidence> evidence_in(const host::KilledGroups& groups) {
  std::vector<Evidence> all;
  std::ranges::transform(groups.groups, std::back_inserter(all), of_group);
  return all;
}

std::vector<Evidence> evidence_in(const host::RefusingGroups& groups) {
  std::vector<Evidence> all;
  std::ranges::transform(groups, std::back_inserter(all), of_refusing_group);
  return all;
}

bool is_shared_memory(const host::Mount& mount) {
  return mount.type == "tmpfs" && (mount.mount_point == "/dev/shm" || mount.mount_point.ends_with("/shm"));
}

std::optional<Evidence> evidence_of(const host::Mount& mount, const host::Usage& usage) {
  constexpr std::uint64_t kLeast = 100;  // of its parts is free, or else it is full
  if (usage.total_bytes == 0 || usage.available_bytes >= usage.total_bytes / kLeast) return std::nullopt;
  Evidence evidence;
  evidence.kind = Kind::shortage;
  evidence.source = "filesystems";
  evidence.holds_now = true;
  Finding& finding = evidence.finding;
  finding.subject.kind = SubjectKind::mount;
  finding.subject.key = mount.mount_point;
  finding.health = Health::degraded;
  finding.reason = why::kSharedMemoryFull;
  finding.message = mount.mount_point + " is full (" + size_text(usage.total_bytes) +
                    "): a program that uses more shared memory ends with SIGBUS.";
  return evidence;
}

std::optional<Evidence> evidence_of(const jobs::JobReport& job, const why::Target& target) {
  Evidence evidence;
  evidence.kind = Kind::reported_end;
  evidence.source = "monitoring of jobs";
  evidence.finding.health = Health::degraded;
  evidence.finding.reason = kJobReport;
  GpuUser user;
  if (!target.owners.empty()) user.owner = target.owners.front();
  evidence.users.push_back(std::move(user));
  if (const jobs::JobFinding* finding = worst_finding(job)) {
    evidence.finding.message = finding->summary;
    evidence.finding.since = finding->onset;
    return evidence;
  }
  if (!job.failure || job.outcome == jobs::Outcome::completed) return std::nullopt;
  evidence.finding.message = job.failure->sentence;
  evidence.finding.since = job.failure->time;
  return evidence;
}

std::vector<Evidence> evidence_in(const TaskReadings& readings, const why::Target& target,
                                  const host::Files& files) {
  std::vector<Evidence> all;
  const auto is_wanted = [&](const host::TaskState& task) {
    if (all.size() >= kMaxProcesses) return false;
    return target.is_machine() ? is_of_workload(task, files) : is_of_pids(task, target);
  };
  for (const auto* tasks : {&readings.now.stopped, &readings.now.zombies})
    for (const host::TaskState& task : *tasks)
      if (const auto standing = text_of(task); standing && is_wanted(task))
        all.push_back(of_standing(task, *standing));
  for (const host::BlockedTask& blocked : readings.now.blocked)
    if (is_of_pids(blocked.task, target) && was_blocked(blocked, readings.before))
      all.push_back(of_blocked(blocked));
  return all;
}

}  // namespace autopilot::cli
