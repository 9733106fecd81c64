// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "catalog/action_text.hpp"
#include "cli/output/why_page.hpp"
#include "core/parse.hpp"
#include "incidents/evidence.hpp"

namespace autopilot::cli {
namespace {

using why::Evidence;
using why::Kind;

struct Advice {
  std::string_view reason;
  std::string_view sentence;
};

// For reasons that no check reports.
constexpr std::array<Advice, 16> kAdvice{
    {{"memory_limit", "Raise the memory limit, or let the program use less memory."},
     {"program_crashed",
      "Read the last lines of the program's log, and its core dump if there is one. If different programs "
      "crash on this machine only, test its memory."},
     {"bad_memory",
      "Run the program on another machine. Take this one out of service, and find the memory module in its "
      "event log (BMC)."},
     {"no_shutdown",
      "Read the event log of the machine's management controller (BMC) for power and hardware events."},
     {"filesystem.nfs_not_responding",
      "Check the file server and the network to it. Processes that wait for it continue when it answers."},
     {"process_stopped", "Continue the process, or end it."},
     {"process_traced", "Detach the debugger, or end the process."},
     {"process_ended", "Look at its parent, which is still to collect the exit status."},
     {"unit_failed", "Read the log of the service."},
     {"pids_limit",
      "Raise the limit of processes (pids.max, podPidsLimit of the kubelet, TasksMax or ulimit -u), or start "
      "fewer processes and threads."},
     {"seccomp_kill", "Allow the system call in the seccomp profile of the container, or do without it."},
     {"shared_memory_full",
      "Give the program more shared memory (a larger emptyDir with medium Memory, or --shm-size), or let its "
      "data loaders use less."},
     {"open_files_limit", "Raise the limit of open files (ulimit -n, LimitNOFILE)."},
     {"locked_memory_limit",
      "Let the program lock memory without a limit (ulimit -l unlimited, LimitMEMLOCK)."},
     {"stack_limit", "Raise the limit of the stack (ulimit -s), or let the program use less of it."},
     {"job_report", "Read the whole answer of the monitoring of jobs."}}};

std::string catalog_command(const Evidence& evidence, const catalog::Catalog& facts) {
  if (const auto code = why::code_of(evidence)) {
    const bool is_switch = evidence.finding.subject.kind == SubjectKind::nvswitch;
    return std::string("autopilot explain ") + (is_switch ? "sxid " : "xid ") + std::to_string(*code);
  }
  if (facts.reason(evidence.finding.reason) != nullptr) return "autopilot explain " + evidence.finding.reason;
  const std::string rule = incidents::word_of(evidence.finding, "rule");
  for (const catalog::CheckPage& check : facts.checks())
    if (!rule.empty() && std::ranges::find(check.log_rules, rule) != check.log_rules.end())
      return "autopilot check " + check.id;
  return {};
}

bool is_plain_word(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char sign) {
    return (sign >= 'a' && sign <= 'z') || (sign >= 'A' && sign <= 'Z') || (sign >= '0' && sign <= '9') ||
           sign == '.' || sign == '-' || sign == '_' || sign == '@';
  });
}

// Names come from the machine: only plain ones become part of a command.
std::string command_of_owner(const GpuUserOwner& owner) {
  constexpr std::string_view kSlurm = "slurm ";
  if (owner.job.starts_with(kSlurm) && is_plain_word(owner.job.substr(kSlurm.size())))
    return "sacct -j " + owner.job.substr(kSlurm.size()) + " -o JobID,State,MaxRSS,ReqMem";
  if (is_plain_word(owner.pod_namespace) && is_plain_word(owner.pod))
    return "kubectl -n " + owner.pod_namespace + " describe pod " + owner.pod;
  return {};
}

std::string command_of_kill(const Evidence& evidence) {
  for (const GpuUser& user : evidence.users)
    if (std::string command = command_of_owner(user.owner); !command.empty()) return command;
  return {};
}

}  // namespace

std::string advice_on(const Evidence& evidence, const catalog::Catalog& facts) {
  const auto own = std::ranges::find(kAdvice, evidence.finding.reason, &Advice::reason);
  if (own != kAdvice.end()) return std::string(own->sentence);
  const catalog::Reason* reason = facts.reason(evidence.finding.reason);
  const bool has_action = evidence.finding.action != Action::none;
  if (why::code_of(evidence) && has_action) return catalog::action_text(evidence.finding.action);
  if (reason != nullptr && !reason->cure.empty()) return reason->cure;
  return has_action ? catalog::action_text(evidence.finding.action) : std::string();
}

std::string next_command(const Evidence& evidence, const catalog::Catalog& facts) {
  const std::string pid = std::to_string(why::pid_of(evidence));
  if (evidence.finding.reason == "process_stopped") return "kill -CONT " + pid;
  if (evidence.kind == Kind::crashed && evidence.source == "journal") return "coredumpctl info " + pid;
  if (evidence.kind == Kind::killed_for_memory)
    if (std::string command = command_of_kill(evidence); !command.empty()) return command;
  if (evidence.finding.reason == "unit_failed") {
    const std::string unit = incidents::word_of(evidence.finding, "unit");
    return is_plain_word(unit) ? "journalctl -u " + unit : std::string();
  }
  if (evidence.finding.reason == "job_report") return "autopilot jobs";
  return catalog_command(evidence, facts);
}

}  // namespace autopilot::cli
