// SPDX-License-Identifier: Apache-2.0
#include "why/ties.hpp"

#include <algorithm>
#include <vector>

#include "core/parse.hpp"
#include "incidents/devices.hpp"

namespace autopilot::why {
namespace {

bool names_one_of(const Evidence& evidence, const std::vector<std::int64_t>& pids) {
  const auto is_named = [&pids](std::int64_t pid) {
    return pid != 0 && std::ranges::find(pids, pid) != pids.end();
  };
  return is_named(pid_of(evidence)) ||
         std::ranges::any_of(evidence.users, [&](const GpuUser& user) { return is_named(user.pid); });
}

// The number of a running process belonged to another process before it started, and in other boots.
bool may_be_the_process(const Evidence& evidence, const Target& target) {
  if (!target.is_running) return true;
  if (evidence.boots_ago != 0) return false;
  const WallTime last = std::max(evidence.finding.since, evidence.finding.last_seen);
  return !target.started || last == WallTime{} || last >= *target.started;
}

// The person may mean the job of this number, and not the process that the evidence names.
bool may_be_the_job(const Evidence& evidence, const Target& target) {
  const auto number = parse_number<std::int64_t>(target.text);
  if (!number || !target.is_also_job) return false;
  std::vector<std::int64_t> others = target.pids;
  std::erase(others, *number);
  return !names_one_of(evidence, others);
}

bool is_surely_the_process(const Evidence& evidence, const Target& target) {
  return evidence.boots_ago == 0 && !may_be_the_job(evidence, target);
}

bool is_of_name(const Evidence& evidence, const Target& target) {
  return !target.process.empty() &&
         (process_of(evidence) == target.process ||
          std::ranges::find(evidence.users, target.process, &GpuUser::process) != evidence.users.end());
}

bool is_of_its_device(const Evidence& evidence, const Target& target) {
  const Subject device = incidents::device_of(evidence.finding.subject);
  if (device.kind == SubjectKind::mount)
    return evidence.holds_now && std::ranges::find(target.mounts, device.key) != target.mounts.end();
  return std::ranges::find(target.gpus, device) != target.gpus.end();
}

bool is_bad(const Evidence& evidence) {
  return evidence.finding.health == Health::failed || evidence.finding.health == Health::degraded;
}

}  // namespace

bool is_of_owner(const Evidence& evidence, const Target& target) {
  return std::ranges::any_of(target.owners, [&evidence](const GpuUserOwner& wanted) {
    return std::ranges::any_of(evidence.users,
                               [&wanted](const GpuUser& user) { return is_same_owner(wanted, user.owner); });
  });
}

Tie tie_of(const Evidence& evidence, const Target& target) {
  if (target.is_machine()) return Tie::none;
  if (is_of_owner(evidence, target) || is_of_name(evidence, target)) return Tie::names_it;
  if (!may_be_the_process(evidence, target)) return Tie::none;
  const bool names_its_number = names_one_of(evidence, target.pids);
  if (names_its_number && is_surely_the_process(evidence, target)) return Tie::names_it;
  if (is_bad(evidence) && is_of_its_device(evidence, target)) return Tie::its_device;
  return names_its_number ? Tie::its_number : Tie::none;
}

std::string grounds_of(const Evidence& evidence, Tie tie, const Target& target) {
  switch (tie) {
    case Tie::names_it:
      return "The " + evidence.source + " names it.";
    case Tie::explains_it:
      return "It explains a record that names " + target.text + ".";
    case Tie::its_device:
      return target.text + " uses it.";
    case Tie::its_number:
      return "Only a process id ties it to " + target.text +
             "; another process or a job may have that number.";
    case Tie::near:
      return "It happened at the same time; no record ties it to " + target.text + ".";
    case Tie::none:
      break;
  }
  return {};
}

}  // namespace autopilot::why
