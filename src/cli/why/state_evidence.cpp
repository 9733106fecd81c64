// SPDX-License-Identifier: Apache-2.0
#include "cli/why/state_evidence.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "cli/output/job_pages.hpp"
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
  if (has_line) evidence.finding.last_seen = member.finding.since;
  evidence.holds_now =
      incident.state != IncidentState::closed && !member.cleared && !is_record(member.finding) && !has_line;
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

Evidence of_group(const host::KilledGroup& group) {
  Evidence evidence;
  evidence.kind = Kind::killed_for_memory;
  evidence.source = "control group";
  Finding& finding = evidence.finding;
  finding.health = Health::degraded;
  finding.reason = kMemoryLimit;
  finding.action = Action::check_application;
  const std::string who = group_text(group.owner, group.path);
  finding.message =
      "The kernel killed " +
      (group.kills == 1 ? std::string("a process") : std::to_string(group.kills) + " processes") + " of " +
      who + " for lack of memory" +
      (group.limit_bytes ? "; its limit is " + size_text(*group.limit_bytes) : "") + ".";
  finding.evidence = {{"cgroup", group.path}, {"count", static_cast<std::int64_t>(group.kills)}};
  GpuUser user;
  user.owner = group.owner;
  evidence.users.push_back(std::move(user));
  return evidence;
}

struct Standing {
  host::TaskState task;
  std::string switches;  // as the kernel prints them; empty: not readable
};

std::string switches_of(const host::Files& files, std::int64_t pid) {
  const auto status = files.read(host::process_folder(pid) + "/status");
  if (!status) return {};
  const auto begin = status->find("voluntary_ctxt_switches:");
  return begin == std::string::npos ? std::string() : status->substr(begin);
}

std::map<std::int64_t, Standing> standing_of(const why::Target& target, const host::Files& files) {
  std::map<std::int64_t, Standing> standing;
  for (const std::int64_t pid : target.pids) {
    if (standing.size() >= kMaxProcesses) break;
    const auto task = host::read_task_state(files, pid);
    if (!task) continue;
    const bool stands = task->state == 'T' || task->state == 't' || task->state == 'D' || task->state == 'Z';
    if (stands) standing.emplace(pid, Standing{*task, switches_of(files, pid)});
  }
  return standing;
}

struct StandingText {
  Kind kind;
  std::string_view reason;
  std::string text;
};

std::optional<StandingText> text_of(const host::TaskState& task, const host::Files& files) {
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
    case 'D': {
      const auto waits_in = files.read_word(host::process_folder(task.pid) + "/wchan");
      const bool is_known = waits_in && !waits_in->empty() && *waits_in != "0";
      return StandingText{Kind::blocked, "task_hung",
                          "is blocked in the kernel" + (is_known ? " in " + *waits_in : std::string()) +
                              ": it waits for a disk, a file server or a driver"};
    }
    default:
      return std::nullopt;
  }
}

std::optional<Evidence> of_standing(const host::TaskState& task, const host::Files& files) {
  const auto standing = text_of(task, files);
  if (!standing) return std::nullopt;
  Evidence evidence;
  evidence.kind = standing->kind;
  evidence.source = "process table";
  evidence.holds_now = true;
  evidence.finding.health = Health::degraded;
  evidence.finding.reason = standing->reason;
  evidence.finding.message = task.name + " (" + std::to_string(task.pid) + ") " + standing->text + ".";
  evidence.finding.evidence = {{"pid", task.pid}, {"process", task.name}};
  return evidence;
}

// Of the whole machine only processes of containers, pods and batch jobs that a signal stopped: a person
// stops others on purpose.
std::vector<Evidence> stopped_on(const host::Files& files) {
  std::vector<Evidence> all;
  const auto names = files.list("/proc");
  if (!names) return all;
  for (const std::string& name : *names) {
    const auto pid = parse_number<std::int64_t>(name);
    const auto task = pid ? host::read_task_state(files, *pid) : fail(Errc::not_found, name);
    if (!task || task->state != 'T' || all.size() >= kMaxProcesses) continue;
    const auto process = host::read_gpu_user(files, *pid, {});
    if (!process || process->owner == GpuUserOwner{}) continue;
    if (auto evidence = of_standing(*task, files)) {
      evidence->users.push_back(*process);
      all.push_back(*std::move(evidence));
    }
  }
  return all;
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

std::vector<Evidence> evidence_in_processes(const why::Target& target, const host::Files& files) {
  constexpr auto kBetween = std::chrono::milliseconds{300};
  if (target.is_machine()) return stopped_on(files);
  auto first = standing_of(target, files);
  const bool has_blocked =
      std::ranges::any_of(first, [](const auto& one) { return one.second.task.state == 'D'; });
  if (has_blocked && !files.is_tree()) {
    std::this_thread::sleep_for(kBetween);
    const auto second = standing_of(target, files);
    std::erase_if(first, [&second](const auto& one) {
      const auto now = second.find(one.first);
      return now == second.end() || now->second.switches != one.second.switches;
    });
  }
  std::vector<Evidence> all;
  for (const auto& [pid, standing] : first)
    if (auto evidence = of_standing(standing.task, files)) all.push_back(*std::move(evidence));
  return all;
}

}  // namespace autopilot::cli
