// SPDX-License-Identifier: Apache-2.0
#include "agent/slurm_actions.hpp"

#include <algorithm>
#include <utility>

#include "core/parse.hpp"
#include "host/slurm/scontrol.hpp"
#include "jobs/decision/alert_text.hpp"

namespace autopilot::agent {
namespace {

constexpr std::size_t kMaxReason = 200;

bool is_number(std::string_view text) {
  constexpr std::size_t kMaxDigits = 10;
  return !text.empty() && text.size() <= kMaxDigits &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

SlurmCommand drain(const jobs::JobFinding& finding) {
  const std::string reason = to_printable(
      "autopilot " + finding.id + ": " + jobs::to_string(finding.culprit) + ", " + finding.cause, kMaxReason);
  return {{"update", "NodeName=" + finding.culprit.node, "State=DRAIN", "Reason=" + reason}};
}

}  // namespace

std::optional<std::string> parse_slurm_job(std::string_view job) {
  for (const std::string_view prefix : {"slurm/", "slurm-"})
    if (job.starts_with(prefix)) job.remove_prefix(prefix.size());
  const std::size_t task = job.find('_');
  const bool is_id = is_number(job.substr(0, task));
  const bool is_task = task == std::string_view::npos || is_number(job.substr(task + 1));
  if (!is_id || !is_task) return std::nullopt;
  return std::string(job);
}

Result<std::vector<SlurmCommand>> slurm_commands(const jobs::WantedAction& action) {
  const jobs::JobFinding& finding = action.finding;
  const jobs::Choice choice = action.request.choice;
  if (!action.request.is_known)
    return fail(Errc::denied, "finding " + finding.id + " rests on data that is missing, so nothing is done");
  const bool requeues = choice == jobs::Choice::stop_now || choice == jobs::Choice::restart_in_place;
  const bool is_drained = choice == jobs::Choice::stop_now || choice == jobs::Choice::swap_at_checkpoint;
  const bool is_switch = finding.culprit.kind == jobs::EntityKind::leaf;
  std::vector<SlurmCommand> commands;
  if (is_drained && finding.culprit.is_accused() && !is_switch) {
    if (!host::is_slurm_node(finding.culprit.node))
      return fail(Errc::malformed, "the name of the accused node is not a name of one node of Slurm");
    commands.push_back(drain(finding));
  }
  if (requeues) {
    const auto id = parse_slurm_job(finding.job);
    if (!id)
      return fail(Errc::malformed,
                  "job '" + to_printable(finding.job, 100) + "' has no id of Slurm such as 1234");
    commands.push_back({{"requeue", *id}});
  }
  if (commands.empty()) return fail(Errc::unsupported, "finding " + finding.id + " names nothing to act on");
  return commands;
}

Status run_slurm_commands(host::ChildRunner& runner, const Clock& clock, const std::string& scontrol,
                          const std::vector<SlurmCommand>& commands, const std::stop_token& stop) {
  for (const SlurmCommand& command : commands)
    (void)TRY(
        host::run_scontrol(runner, scontrol, command.arguments, clock.now().mono + kSlurmDeadline, stop));
  return {};
}

}  // namespace autopilot::agent
