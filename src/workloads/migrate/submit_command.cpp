// SPDX-License-Identifier: Apache-2.0
#include "core/parse.hpp"
#include "workloads/migrate/body/shell.hpp"
#include "workloads/migrate/job/options.hpp"
#include "workloads/migrate/migrate.hpp"

namespace autopilot::workloads::migrate {
namespace {

std::optional<Scheduler> scheduler_of_program(std::string_view program) {
  program = base_name(program);
  if (program == "bsub") return Scheduler::lsf;
  if (program == "sbatch" || program == "srun") return Scheduler::slurm;
  return std::nullopt;
}

}  // namespace

Result<SubmitCommand> parse_submit_command(std::string_view text) {
  const DirectiveWords split_words = split_directive(text);
  if (!split_words.is_closed) return fail(Errc::malformed, "the submit command has an open quote; close it");
  const auto scheduler =
      split_words.words.empty() ? std::nullopt : scheduler_of_program(split_words.words.front());
  if (!scheduler)
    return fail(
        Errc::malformed,
        "the submit command begins with none of bsub, sbatch and srun; give it as it is typed, for example "
        "'bsub -n 4 -q normal < job.lsf'");
  SubmitCommand command;
  command.scheduler = *scheduler;
  for (std::size_t at = 1; at < split_words.words.size(); ++at) {
    const std::string& word = split_words.words[at];
    if (word == "<" && at + 1 < split_words.words.size()) {
      command.script_file = split_words.words[++at];
    } else if (word.size() > 1 && word.front() == '<') {
      command.script_file = word.substr(1);
    } else {
      command.words.push_back({word, 0, 0, false});
    }
  }
  Findings ignored;
  const GivenOptions given = recognise_options(command.words, *scheduler, ignored);
  const bool names_script = base_name(split_words.words.front()) == "sbatch";
  if (names_script && !given.rest.empty() && command.script_file.empty())
    command.script_file = given.rest.front();
  return command;
}

}  // namespace autopilot::workloads::migrate
