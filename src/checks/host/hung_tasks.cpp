// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "checks/builtin.hpp"
#include "checks/judgement.hpp"
#include "checks/kernel_log/call_trace.hpp"
#include "checks/kernel_log/record_effects.hpp"
#include "checks/kernel_log/rule_events.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace host_hung_tasks {
namespace {

constexpr std::string_view kId = "host.hung_tasks";
constexpr std::string_view kProc = "/proc";

constexpr std::string_view kExamined = "tasks.looked_at";
constexpr std::string_view kSwitches = "task.switches";
constexpr std::string_view kStarted = "task.started";
constexpr std::string_view kZombies = "task.zombies";
constexpr std::size_t kMostParents = 8;
constexpr std::size_t kMostNamed = 3;

Subject process(std::int64_t pid) {
  return make_subject(SubjectKind::process, std::to_string(pid));
}

void add_blocked(const host::Tasks& tasks, ObservationBuilder& seen) {
  std::int64_t kernel_threads = 0;
  for (const host::BlockedTask& blocked : tasks.blocked) {
    // Some kernel threads always sleep in this state, by design.
    if (blocked.task.is_kernel_thread) {
      ++kernel_threads;
      continue;
    }
    const Subject subject = process(blocked.task.pid);
    seen.add_count(subject, kStarted, kProc, blocked.task.started_ticks);
    if (!blocked.switches) {
      seen.add_missing(subject, kSwitches, kProc, "not_supported", "its context switches are not available");
      continue;
    }
    seen.add_count(subject, kSwitches, kProc, *blocked.switches).attributes = {{"process", blocked.task.name},
                                                                               {"waitsIn", blocked.waits_in}};
  }
  seen.add(host_subject(), "tasks.kernel_blocked", kProc, kernel_threads, "count");
}

// The parents with the most zombies, the worst first.
void add_zombies(const host::Files& files, const host::Tasks& tasks, ObservationBuilder& seen) {
  std::map<std::int64_t, std::int64_t> by_parent;
  for (const host::TaskState& zombie : tasks.zombies)
    ++by_parent[zombie.parent];
  std::vector<std::pair<std::int64_t, std::int64_t>> worst;
  for (const auto& [parent, count] : by_parent)
    worst.emplace_back(-count, parent);
  std::ranges::sort(worst);
  if (worst.size() > kMostParents) worst.resize(kMostParents);
  for (const auto& [count, parent] : worst) {
    const auto name = files.read_word(std::string(kProc) + "/" + std::to_string(parent) + "/comm");
    seen.add(process(parent), kZombies, kProc, -count, "count").attributes = {
        {"process", name ? *name : std::string("?")}};
  }
}

// The kernel logs a call trace below each report, unless it is configured not to.
void add_places(const host::Host& host, const Request& request, Observed& observed) {
  if (observed.observations.empty()) return;
  const auto log = host.kernel_log.read_if(request.kernel_log_from, request.deadline,
                                           {request.reader, LogParts::others, may_be_trace});
  if (!log) return;
  const auto places = waiting_places(log->records);
  for (Observation& event : observed.observations) {
    const auto place = places.find(event.sequence.value_or(0));
    if (place == places.end()) continue;
    if (!place->second.function.empty()) event.attributes.emplace_back("waitsIn", place->second.function);
    if (!place->second.module.empty()) event.attributes.emplace_back("module", place->second.module);
  }
}

Result<Observed> observe(const host::Host& host, const Request& request) {
  Observed observed;
  const Status log = add_rule_events(host, request, kId, observed);
  if (log) add_places(host, request, observed);
  const auto tasks = host::read_tasks(host.files);
  if (!tasks && !log) return fail(tasks.error());
  ObservationBuilder seen(request.now);
  if (tasks) {
    seen.add(host_subject(), kExamined, kProc, static_cast<std::int64_t>(tasks->looked_at), "count");
    seen.add(host_subject(), "tasks.left_out", kProc, static_cast<std::int64_t>(tasks->left_out), "count");
    add_blocked(*tasks, seen);
    add_zombies(host.files, *tasks, seen);
    observed.witnesses.emplace_back(kProc);
  } else {
    seen.add_missing(host_subject(), kExamined, kProc, to_string(tasks.error().code), tasks.error().what);
  }
  Observations round = seen.take();
  observed.observations.insert(observed.observations.end(), std::make_move_iterator(round.begin()),
                               std::make_move_iterator(round.end()));
  return observed;
}

bool begins_with_any(std::string_view text, std::span<const std::string_view> beginnings) {
  return std::ranges::any_of(beginnings, [&](std::string_view each) { return text.starts_with(each); });
}

// Stopped on purpose (a paused container), or waiting for the child that it made.
bool waits_by_design(std::string_view place) {
  constexpr std::array<std::string_view, 6> kPlaces{"__refrigerator", "do_freezer_trap", "kernel_clone",
                                                    "_do_fork",       "do_fork",         "wait_for_vfork"};
  return begins_with_any(place, kPlaces);
}

std::string_view kind_of(std::string_view place) {
  constexpr std::array<std::string_view, 16> kStorage{
      "nfs",   "rpc_",         "xfs", "ext4", "btrfs",        "jbd2", "io_schedule",  "blk_",
      "folio", "wait_on_page", "bio", "fuse", "request_wait", "ceph", "percpu_rwsem", "__percpu"};
  constexpr std::array<std::string_view, 4> kDriver{"nv_", "nvidia", "uvm_", "os_acquire"};
  if (begins_with_any(place, kStorage)) return " (disk or filesystem)";
  return begins_with_any(place, kDriver) ? " (GPU driver)" : "";
}

// True if it is the same process and did not run: its numbers are equal in all runs.
bool has_not_run(const History& history, const Subject& subject, MonoTime since, std::size_t runs) {
  return std::ranges::all_of(std::array{kSwitches, kStarted}, [&](std::string_view name) {
    const std::vector<Sample> samples = history.samples(subject, name);
    const auto begin = std::ranges::find_if(samples, [&](const Sample& each) { return each.time >= since; });
    return static_cast<std::size_t>(samples.end() - begin) == runs &&
           std::all_of(begin, samples.end(), [&](const Sample& each) { return each.value == begin->value; });
  });
}

// Adds the function and module that the process waits in, if the kernel reports them.
void name_places(Findings& findings) {
  for (Finding& finding : findings) {
    const Value* place = find_attribute(finding.evidence, "waitsIn");
    const Value* module = find_attribute(finding.evidence, "module");
    if (place != nullptr)
      finding.message += "; it waits in " + to_string(*place) + std::string(kind_of(to_string(*place)));
    if (module != nullptr) finding.message += ", module " + to_string(*module);
  }
}

void judge_blocked(const JudgeInput& input, Findings& findings) {
  const Limit needed = limit(input, "host.hung_tasks.looks");
  const auto count = static_cast<std::size_t>(std::max(needed.value, 2.0));
  const std::vector<Sample> runs = input.history.samples(host_subject(), kExamined);
  if (runs.size() < count) return;
  const MonoTime since = runs[runs.size() - count].time;
  std::size_t stuck = 0;
  std::string named;
  for (const Observation& seen : input.history.latest()) {
    if (seen.name != kSwitches || !seen.value) continue;
    const std::string place = attribute_of(seen, "waitsIn");
    if (waits_by_design(place) || !has_not_run(input.history, seen.subject, since, count)) continue;
    if (++stuck > kMostNamed) continue;
    named += (named.empty() ? "" : ", ") + attribute_of(seen, "process") + " (" + seen.subject.key + ")";
    if (!place.empty()) named += " in " + place + std::string(kind_of(place));
  }
  if (stuck == 0) return;
  if (stuck > kMostNamed) named += ", ...";
  findings.push_back(make_finding(input, host_subject(), "tasks_stuck", Health::degraded,
                                  std::to_string(stuck) + (stuck == 1 ? " process has" : " processes have") +
                                      " not run at all in " + std::to_string(count) +
                                      " runs of this check: " + named,
                                  static_cast<double>(count), needed));
  findings.back().since = input.now.wall - (input.now.mono - since);
  findings.back().evidence.emplace_back("witness", std::string(kProc));
}

void judge_zombies(const JudgeInput& input, Findings& findings) {
  const Limit most = limit(input, "host.hung_tasks.zombies");
  for (const Observation& seen : input.history.latest()) {
    const auto count = seen.name == kZombies && seen.value ? as_number(*seen.value) : std::nullopt;
    if (!count || *count <= most.value) continue;
    findings.push_back(make_finding(input, host_subject(), "zombies_pile_up", Health::degraded,
                                    rounded(*count) + " zombie processes were not reaped by " +
                                        attribute_of(seen, "process") + " (" + seen.subject.key + ")",
                                    *count, most));
    return;  // only the worst
  }
}

Findings judge(const JudgeInput& input) {
  Findings findings = rule_findings(input);
  name_places(findings);
  judge_blocked(input, findings);
  judge_zombies(input, findings);
  return findings;
}

}  // namespace
}  // namespace host_hung_tasks

const Check kHostHungTasks = {
    .info = {.id = std::string(host_hung_tasks::kId),
             .title = "Hung processes",
             .tags = {"host", "kernel_log", "passive"},
             .period = std::chrono::seconds{60},
             .deadline = std::chrono::seconds{10},
             .window = std::chrono::minutes{30},  // as long as a report counts
             .cost = Cost::cheap,
             .witnesses = {"/dev/kmsg", std::string(host_hung_tasks::kProc)},
             .rights = {"CAP_SYSLOG", "CAP_SYS_PTRACE"},
             .needs_window = false},
    .observe = host_hung_tasks::observe,
    .judge = host_hung_tasks::judge,
    .interpret = interpret_records,
};

}  // namespace autopilot::checks
