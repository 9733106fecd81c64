// SPDX-License-Identifier: Apache-2.0
#include "cli/why/log_evidence.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "checks/kernel_log/decode.hpp"
#include "checks/kernel_log/driver_events.hpp"
#include "checks/kernel_log/line_verdict.hpp"
#include "checks/kernel_log/record_effects.hpp"
#include "checks/kernel_log/rule_events.hpp"
#include "cli/why/call_trace.hpp"
#include "cli/why/end_evidence.hpp"
#include "core/parse.hpp"
#include "why/waits.hpp"

namespace autopilot::cli {

using why::Evidence;
using why::Kind;

namespace {

constexpr std::string_view kProgramError = "xid_app";
constexpr std::string_view kOomLimit = "memory.oom_limit";
constexpr std::string_view kOomLimitOld = "memory.oom_limit_old";
constexpr std::string_view kOomConstraint = "memory.oom_constraint";
constexpr std::string_view kOomContainer = "memory.oom_container";
constexpr std::string_view kOomGlobal = "memory.oom_global";
// The reason of a check that needs more than the line.
constexpr std::string_view kNotRead = "could_not_look";
constexpr std::size_t kContainerDigits = 12;

// --- errors of drivers ---

Evidence of_driver(Finding symptom, const LogContext& context) {
  Evidence evidence;
  const bool is_of_program = symptom.health == Health::healthy && symptom.reason == kProgramError;
  evidence.kind = is_of_program ? Kind::program_error : Kind::device_error;
  evidence.source = context.source;
  evidence.boots_ago = context.boots_ago;
  evidence.finding = std::move(symptom);
  const std::int64_t pid = why::pid_of(evidence);
  if (pid != 0) evidence.users.push_back(user_of(pid, why::process_of(evidence)));
  return evidence;
}

std::vector<Evidence> driver_evidence(const std::vector<host::KernelRecord>& records,
                                      const LogContext& context, const catalog::Catalog& facts) {
  const auto events =
      checks::collect_driver_events({.records = records, .next = 0, .lost = 0, .witness = context.source});
  std::vector<Evidence> all;
  for (Finding& symptom : checks::symptoms_in(events.events, facts))
    all.push_back(of_driver(std::move(symptom), context));
  return all;
}

// --- kills for lack of memory ---

// Joins the lines of one kill: the group that ran out of memory, then the killed process.
class KillReader {
 public:
  explicit KillReader(const LogContext& context) : context_(context) {}

  // True if the line belongs to a kill.
  bool take(const checks::DecodedRecord& line, WallTime time, std::vector<Evidence>& all) {
    if (line.rule == kOomLimit || line.rule == kOomLimitOld || line.rule == kOomConstraint) {
      group_ = line;
      return true;
    }
    if (line.rule != kOomContainer && line.rule != kOomGlobal) return line.kind == "oom";
    all.push_back(kill(line, time));
    group_.reset();
    return true;
  }

 private:
  // The group of an older kernel has no pid, and directly precedes the kill.
  [[nodiscard]] bool is_group_of(const checks::DecodedRecord& line) const {
    return group_ && (!group_->pid || group_->pid == line.pid);
  }

  [[nodiscard]] Evidence kill(const checks::DecodedRecord& line, WallTime time) const {
    Evidence evidence = evidence_at(context_, time);
    evidence.kind = Kind::killed_for_memory;
    const std::int64_t pid = line.pid.value_or(0);
    const std::string cgroup = is_group_of(line) ? checks::attribute_of(*group_, "cgroup") : "";
    const std::string limit = is_group_of(line) ? checks::attribute_of(*group_, "limit") : "";
    const GpuUserOwner owner = owner_of_path(cgroup.empty() ? limit : cgroup, context_.pods);
    const bool is_of_limit = line.rule == kOomContainer;
    Finding& finding = evidence.finding;
    finding.reason = is_of_limit ? kMemoryLimit : kMachineMemory;
    finding.health = Health::degraded;
    finding.action = Action::check_application;
    const std::string who = group_text(owner_of_path(limit, context_.pods), limit);
    finding.message =
        "The kernel killed " + process_text(line.process, pid) +
        (is_of_limit ? ": the memory limit of " + (who.empty() ? "its control group" : who) + " was reached."
                     : ": the machine ran out of memory.");
    finding.injected = line.injected;
    note_process(finding, line.process, pid);
    if (!cgroup.empty()) finding.evidence.emplace_back("cgroup", cgroup);
    finding.evidence.emplace_back("line", line.text);
    evidence.users.push_back(user_of(pid, line.process, owner));
    return evidence;
  }

  const LogContext& context_;
  std::optional<checks::DecodedRecord> group_;
};

// --- all other lines ---

// Lines that no check judges, and that a person wants to see beside the end of a program.
bool is_worth_seeing(const std::string& rule) {
  static constexpr std::array<std::string_view, 13> kRules{
      "filesystem.gpfs",          "filesystem.lustre_error",         "filesystem.lustre_lost",
      "filesystem.weka",          "filesystem.nfs_lock_lost",        "gpu.nvlink_not_trained",
      "memory.edac_corrected",    "host.machine_check_amd_deferred", "memory.page_failure",
      "network.bond_member_down", "storage.nvme_critical_warning",   "storage.raid_broken",
      "storage.raid_failure"};
  return std::ranges::find(kRules, rule) != kRules.end();
}

Kind kind_of(const checks::DecodedRecord& line) {
  static constexpr std::array<std::string_view, 5> kEnds{"host.panic", "host.panic_of_hardware",
                                                         "host.reset_by_hardware", "host.reset_by_watchdog",
                                                         "host.boot_error_record"};
  if (line.kind == "hung_task") return Kind::blocked;
  if (std::ranges::find(kEnds, line.rule) != kEnds.end()) return Kind::machine_ended;
  if (line.fault_class == "app") return Kind::program_error;
  return Kind::device_error;
}

// A reset that the kernel reports while it starts ended the previous boot.
bool is_of_previous_boot(const checks::DecodedRecord& line) {
  return line.rule.starts_with("host.reset_by") || line.rule == "host.boot_error_record";
}

// Judges lines by the checks, each kind once.
class LineReader {
 public:
  LineReader(const LogContext& context, const catalog::Catalog& facts) : context_(context), facts_(facts) {}

  [[nodiscard]] std::optional<Evidence> read(const host::KernelRecord& record,
                                             const checks::DecodedRecord& line) {
    const Subject subject = subject_of(line);
    const auto verdict = verdict_on(record, line, subject);
    const bool is_told = line.fault_class == "app" || is_worth_seeing(line.rule);
    if (!verdict || (verdict->health == Health::healthy && !is_told)) return std::nullopt;
    Evidence evidence = evidence_at(context_, record.time.wall);
    evidence.kind = kind_of(line);
    if (is_of_previous_boot(line)) ++evidence.boots_ago;
    Finding& finding = evidence.finding;
    finding.subject = subject;
    finding.health = verdict->health;
    if (finding.health == Health::healthy && line.fault_class != "app") finding.health = Health::unknown;
    const bool has_reason = facts_.reason(verdict->reason) != nullptr && verdict->reason != kNotRead;
    finding.reason = has_reason ? verdict->reason : line.rule;
    finding.action = verdict->action == Action::none ? line.action : verdict->action;
    finding.message = message_of(line);
    finding.injected = line.injected;
    note_process(finding, line.process, line.pid.value_or(0));
    for (const std::string_view name : {"device", "server"})
      if (std::string value = checks::attribute_of(line, name); !value.empty())
        finding.evidence.emplace_back(name, std::move(value));
    finding.evidence.emplace_back("rule", line.rule);
    finding.evidence.emplace_back("line", line.text);
    if (line.pid) evidence.users.push_back(user_of(*line.pid, line.process));
    return evidence;
  }

 private:
  [[nodiscard]] Subject subject_of(const checks::DecodedRecord& line) const {
    Subject subject = checks::subject_by_rule(facts_, line);
    if (subject.kind == SubjectKind::host && line.pci.empty()) return subject;
    if (subject.kind == SubjectKind::host && line.kind == "off_bus") {
      subject.kind = SubjectKind::gpu;
      subject.key = line.pci;
    }
    return subject;
  }

  [[nodiscard]] std::optional<checks::LineVerdict> verdict_on(const host::KernelRecord& record,
                                                              const checks::DecodedRecord& line,
                                                              const Subject& subject) {
    const auto key = std::pair(line.rule, subject);
    if (const auto known = verdicts_.find(key); known != verdicts_.end()) return known->second;
    if (verdicts_.size() >= kMaxJudgedRecords) return std::nullopt;
    return verdicts_.emplace(key, judged(record, line)).first->second;
  }

  // The check reads a counter, which has no time.
  [[nodiscard]] checks::LineVerdict judged(const host::KernelRecord& record,
                                           const checks::DecodedRecord& line) const {
    constexpr std::string_view kReason = "memory_uncorrected";
    if (line.rule != "memory.edac_uncorrected") return checks::verdict_on(record, line, facts_);
    return {.health = Health::failed, .check = "host.memory", .reason = std::string(kReason)};
  }

  static std::string message_of(const checks::DecodedRecord& line) {
    if (line.kind == "hung_task")
      return process_text(line.process, line.pid.value_or(0)) +
             " is blocked in the kernel: it waits for a disk, a file server or a driver.";
    const std::string device = checks::attribute_of(line, "device");
    return line.name + (device.empty() ? "" : " (" + device + ")") + ": " + line.text;
  }

  const LogContext& context_;
  const catalog::Catalog& facts_;
  std::map<std::pair<std::string, Subject>, checks::LineVerdict> verdicts_;
};

// The call trace behind the record of a hung task shows what the task waits for.
Evidence with_wait_place(Evidence evidence, const checks::DecodedRecord& line, const WaitPlace& place) {
  if (evidence.kind != Kind::blocked || place.what.empty()) return evidence;
  evidence.finding.message = process_text(line.process, line.pid.value_or(0)) +
                             " is blocked in the kernel: " + std::string(wait_sentence(place.what)) + " (" +
                             place.function + ").";
  evidence.finding.evidence.emplace_back(why::kWaitsFor, std::string(place.what));
  evidence.finding.evidence.emplace_back("function", place.function);
  return evidence;
}

bool is_of_driver(const checks::DecodedRecord& line) {
  return line.kind == checks::kXidEvent || line.kind == checks::kSxidEvent;
}

}  // namespace

GpuUserOwner owner_of_path(const std::string& path, const host::PodNames& pods) {
  GpuUserOwner owner = host::parse_cgroup_path(path);
  if (const auto pod = pods.find(owner.pod_uid); pod != pods.end())
    std::tie(owner.pod_namespace, owner.pod) = pod->second;
  return owner;
}

std::string group_text(const GpuUserOwner& owner, const std::string& path) {
  if (!owner.job.empty()) return owner.job;
  if (!owner.pod.empty()) return "pod " + owner.pod_namespace + "/" + owner.pod;
  if (!owner.pod_uid.empty()) return "pod " + owner.pod_uid;
  if (!owner.container.empty()) return "container " + owner.container.substr(0, kContainerDigits);
  return path;
}

std::vector<Evidence> evidence_in(std::vector<host::KernelRecord> records, const LogContext& context,
                                  const catalog::Catalog& facts) {
  std::erase_if(records, [&context](const host::KernelRecord& record) {
    return record.time.wall < context.since || (!record.from_kernel() && !record.injected);
  });
  std::vector<Evidence> all = driver_evidence(records, context, facts);
  KillReader kills(context);
  LineReader lines(context, facts);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const host::KernelRecord& record = records[i];
    const auto line = checks::builtin_decoder().decode(record);
    if (!line || is_of_driver(*line)) continue;
    if (kills.take(*line, record.time.wall, all)) continue;
    if (auto end = end_in(*line, context, record.time.wall))
      all.push_back(*std::move(end));
    else if (auto evidence = lines.read(record, *line))
      all.push_back(with_wait_place(*std::move(evidence), *line, wait_place(records, i)));
  }
  return all;
}

std::vector<Evidence> evidence_in(const host::JournaledBoot& boot, const LogContext& context) {
  std::vector<Evidence> all;
  for (const host::ProgramEnd& end : boot.ends)
    if (end.time >= context.since) all.push_back(of_end(end, context));
  const bool has_ended = context.boots_ago > 0 && boot.has_system_entries && boot.last >= context.since;
  if (has_ended && !boot.was_stopped) all.push_back(end_of_boot(boot, context));
  return all;
}

}  // namespace autopilot::cli
