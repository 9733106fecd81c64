// SPDX-License-Identifier: Apache-2.0
#include "cli/why/end_evidence.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "checks/kernel_log/rule_events.hpp"
#include "core/parse.hpp"

namespace autopilot::cli {

using why::Evidence;
using why::Kind;

GpuUser user_of(std::int64_t pid, std::string process, GpuUserOwner owner) {
  GpuUser user;
  user.pid = pid;
  user.process = std::move(process);
  user.owner = std::move(owner);
  return user;
}

std::string process_text(const std::string& process, std::int64_t pid) {
  if (pid == 0) return process.empty() ? "a process" : process;
  const std::string number = std::to_string(pid);
  return process.empty() ? "process " + number : process + " (" + number + ")";
}

void note_process(Finding& finding, const std::string& process, std::int64_t pid) {
  if (pid != 0) finding.evidence.emplace_back("pid", pid);
  if (!process.empty()) finding.evidence.emplace_back("process", process);
}

Evidence evidence_at(const LogContext& context, WallTime time) {
  Evidence evidence;
  evidence.source = context.source;
  evidence.boots_ago = context.boots_ago;
  evidence.finding.since = time;
  evidence.finding.last_seen = time;
  return evidence;
}

namespace {

constexpr std::string_view kForkRejected = "host.fork_rejected";
constexpr std::string_view kSeccompKill = "host.seccomp_kill";

bool is_crash(const checks::DecodedRecord& line) {
  return line.rule == "host.segfault" || line.rule == "host.trap" || line.rule == "host.nccl_segfault";
}

// "... error 4 in libnccl.so.2.19.3[7f0000000000+1000]": the file that contains the instruction.
std::string library_in(std::string_view text) {
  constexpr std::string_view kBefore = " in ";
  const std::size_t open = text.rfind('[');
  const std::size_t before = open == std::string_view::npos ? open : text.rfind(kBefore, open);
  if (before == std::string_view::npos || text.find("error") > before) return {};
  const std::string_view name = text.substr(before + kBefore.size(), open - before - kBefore.size());
  return name.find(' ') == std::string_view::npos ? std::string(name) : std::string();
}

Evidence crash(const checks::DecodedRecord& line, const LogContext& context, WallTime time) {
  Evidence evidence = evidence_at(context, time);
  evidence.kind = Kind::crashed;
  const std::int64_t pid = line.pid.value_or(0);
  Finding& finding = evidence.finding;
  finding.reason = kProgramCrashed;
  finding.health = Health::degraded;
  finding.action = Action::check_application;
  const std::string exception = checks::attribute_of(line, "exception");
  const std::string library = library_in(line.text);
  finding.message = process_text(line.process, pid) + " crashed" + (library.empty() ? "" : " in " + library) +
                    ": " + (exception.empty() ? "it used memory that it may not use (SIGSEGV)" : exception) +
                    ".";
  if (!library.empty()) finding.evidence.emplace_back("library", library);
  note_process(finding, line.process, pid);
  finding.evidence.emplace_back("line", line.text);
  evidence.users.push_back(user_of(pid, line.process));
  return evidence;
}

// "Sending SIGBUS to python3:4242 due to hardware memory corruption". Older kernels write "Killing". The name
// of the process may contain anything, so the line is read from its end.
std::optional<GpuUser> victim_of_bad_memory(const checks::DecodedRecord& line) {
  constexpr std::array<std::string_view, 3> kBegins{"Sending SIGBUS to ", "Killing ", "forcibly killing "};
  if (line.rule != "memory.page_failure") return std::nullopt;
  constexpr std::string_view kPrefix = "Memory failure: 0x";
  std::string_view text = line.text;
  const std::size_t page = text.find(kPrefix);
  const std::size_t after = page == std::string_view::npos ? page : text.find(": ", page + kPrefix.size());
  if (after == std::string_view::npos) return std::nullopt;
  text.remove_prefix(after + 2);
  const auto begin =
      std::ranges::find_if(kBegins, [&text](std::string_view one) { return text.starts_with(one); });
  const std::size_t end = std::max(text.rfind(" due to ") + 1, text.rfind(" because of ") + 1);
  if (begin == kBegins.end() || end <= begin->size()) return std::nullopt;
  const std::string_view who = text.substr(begin->size(), end - 1 - begin->size());
  const std::size_t colon = who.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto pid = parse_number<std::int64_t>(who.substr(colon + 1));
  if (!pid || *pid <= 0) return std::nullopt;
  return user_of(*pid, std::string(who.substr(0, colon)));
}

Evidence of_bad_memory(const checks::DecodedRecord& line, GpuUser victim, const LogContext& context,
                       WallTime time) {
  Evidence evidence = evidence_at(context, time);
  evidence.kind = Kind::crashed;
  Finding& finding = evidence.finding;
  finding.reason = why::kBadMemory;
  finding.health = Health::failed;
  finding.message = "The kernel ended " + process_text(victim.process, victim.pid) +
                    " with SIGBUS: a page of its memory is damaged.";
  finding.injected = line.injected;
  note_process(finding, victim.process, victim.pid);
  finding.evidence.emplace_back("line", line.text);
  evidence.users.push_back(std::move(victim));
  return evidence;
}

Evidence refused_fork(const checks::DecodedRecord& line, const LogContext& context, WallTime time) {
  Evidence evidence = evidence_at(context, time);
  evidence.kind = Kind::shortage;
  const std::string group = checks::attribute_of(line, "cgroup");
  const GpuUserOwner owner = owner_of_path(group, context.pods);
  Finding& finding = evidence.finding;
  finding.reason = kPidsLimit;
  finding.health = Health::degraded;
  finding.message = "The kernel refused to start a process or thread: the limit of processes (pids) of " +
                    group_text(owner, group) + " was reached.";
  finding.injected = line.injected;
  finding.evidence.emplace_back("cgroup", group);
  finding.evidence.emplace_back("line", line.text);
  evidence.users.push_back(user_of(0, {}, owner));
  return evidence;
}

Evidence seccomp_kill(const checks::DecodedRecord& line, const LogContext& context, WallTime time) {
  Evidence evidence = evidence_at(context, time);
  evidence.kind = Kind::crashed;
  const std::int64_t pid = line.pid.value_or(0);
  Finding& finding = evidence.finding;
  finding.reason = kSeccomp;
  finding.health = Health::degraded;
  finding.message = "The kernel ended " + process_text(line.process, pid) +
                    " with SIGSYS: its seccomp profile forbids system call " +
                    checks::attribute_of(line, "syscall") + ".";
  finding.injected = line.injected;
  note_process(finding, line.process, pid);
  finding.evidence.emplace_back(why::kSignal, "SIGSYS");
  finding.evidence.emplace_back("line", line.text);
  evidence.users.push_back(user_of(pid, line.process));
  return evidence;
}

std::string with_unit(const host::ProgramEnd& end) {
  return end.unit.empty() ? "A service" : "The service " + end.unit;
}

// " in ncclCommAbort of libnccl.so.2"
std::string place_text(const host::CrashPlace& place) {
  if (place.library.empty()) return {};
  return " in " + (place.function.empty() ? "" : place.function + " of ") + place.library;
}

}  // namespace

std::optional<Evidence> end_in(const checks::DecodedRecord& line, const LogContext& context, WallTime time) {
  if (is_crash(line)) return crash(line, context, time);
  if (line.rule == kForkRejected) return refused_fork(line, context, time);
  if (line.rule == kSeccompKill) return seccomp_kill(line, context, time);
  if (auto victim = victim_of_bad_memory(line)) return of_bad_memory(line, *std::move(victim), context, time);
  return std::nullopt;
}

Evidence of_end(const host::ProgramEnd& end, const LogContext& context) {
  Evidence evidence = evidence_at(context, end.time);
  const GpuUserOwner owner = owner_of_path(end.cgroup, context.pods);
  Finding& finding = evidence.finding;
  finding.health = Health::degraded;
  finding.action = Action::check_application;
  note_process(finding, end.process, end.pid);
  if (!end.unit.empty()) finding.evidence.emplace_back("unit", end.unit);
  switch (end.kind) {
    case host::ProgramEnd::Kind::core_dump:
      evidence.kind = Kind::crashed;
      finding.reason = kProgramCrashed;
      finding.message = process_text(end.process, end.pid) + " crashed" +
                        (end.word.empty() ? "" : " with " + end.word) + place_text(end.place) +
                        "; systemd wrote a core dump.";
      if (!end.word.empty()) finding.evidence.emplace_back(why::kSignal, end.word);
      if (!end.place.library.empty()) finding.evidence.emplace_back("library", end.place.library);
      break;
    case host::ProgramEnd::Kind::unit_memory:
      evidence.kind = Kind::killed_for_memory;
      finding.reason = kMemoryLimit;
      finding.message = with_unit(end) + " lost a process: the kernel killed it for lack of memory.";
      break;
    case host::ProgramEnd::Kind::unit_failed:
      evidence.kind = Kind::reported_end;
      finding.reason = kUnitFailed;
      finding.message =
          with_unit(end) + " failed" + (end.word.empty() ? "" : " with the result " + end.word) + ".";
      break;
  }
  evidence.users.push_back(user_of(end.pid, end.process.empty() ? end.unit : end.process, owner));
  return evidence;
}

Evidence end_of_boot(const host::JournaledBoot& boot, const LogContext& context) {
  Evidence evidence = evidence_at(context, boot.last);
  evidence.kind = Kind::machine_ended;
  evidence.finding.reason = why::kNoShutdown;
  evidence.finding.health = Health::failed;
  evidence.finding.message =
      "The machine ended without a shutdown: it lost power, was reset, or crashed. This is the last entry "
      "of its journal.";
  return evidence;
}

}  // namespace autopilot::cli
