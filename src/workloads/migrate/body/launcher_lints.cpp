// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include "core/parse.hpp"
#include "workloads/migrate/body/lints.hpp"

namespace autopilot::workloads::migrate {
namespace {

std::string launcher_title(const LauncherCall& call) {
  return std::string(word_of(kLauncherKinds, call.kind));
}

// Options whose file names hosts of the old cluster, or has the program.
bool has_launch_file(std::string_view option) {
  for (const std::string_view name : {"-rf", "--rf", "-rankfile", "--rankfile", "--erf-input", "-U", "-app",
                                      "--app", "--appfile", "-configfile", "--multi-prog"})
    if (option == name) return true;
  return false;
}

void lint_options(const LauncherCall& call, Findings& findings) {
  for (const std::string& name : call.unknown)
    findings.add(Severity::decision, "M-LAUNCHER-OPTION", call.number,
                 name + " is not a known option of " + launcher_title(call) +
                     "; the words behind it may be taken for the program",
                 "Check this command in job.sh, or remove the option from the script");
  for (const LauncherOption& option : call.options)
    if (has_launch_file(option.name))
      findings.add(Severity::decision, "M-LAUNCHER-OPTION", call.number,
                   launcher_title(call) + " " + option.name +
                       " reads ranks, hosts or programs from a file, which is not translated",
                   "Give the number of ranks and the program on the command line");
}

// "0,2-3"
bool has_part_beyond(std::string_view list, int parts) {
  for (const std::string_view item : split(list, ','))
    for (const std::string_view number : split(item, '-'))
      if (const auto part = parse_number<int>(number); part && *part >= parts) return true;
  return false;
}

void lint_parts(const LauncherCall& call, int parts, Findings& findings) {
  for (const std::string_view name : {"--het-group", "--pack-group"}) {
    const LauncherOption* option = option_of(call, name);
    if (option != nullptr && has_part_beyond(option->value, parts))
      findings.add(Severity::decision, "M-LAUNCHER-OPTION", call.number,
                   "srun --het-group=" + option->value + " names a component that the job does not have",
                   "Count the components from 0");
  }
}

// GPUs that Slurm gives to this step, if the command states it.
std::optional<int> gpus_of_step(const LauncherCall& call, int hosts) {
  for (const std::string_view name : {"--gpus", "-G", "--gres", "--gpus-per-node"}) {
    const LauncherOption* option = option_of(call, name);
    if (option == nullptr) continue;
    if (name == "--gres" && !option->value.starts_with("gpu")) continue;
    const auto count =
        parse_number<int>(std::string_view(option->value).substr(option->value.rfind(':') + 1));
    if (!count || *count < 0 || *count > 100'000) continue;
    return name.starts_with("--g") && name != "--gpus" ? *count * hosts : *count;
  }
  return std::nullopt;
}

void lint_step_gpus(const LauncherCall& call, const LaunchPlace& place, bool is_background,
                    Findings& findings) {
  const int gpus = place.layout.gpus * place.layout.hosts;
  const auto of_step = gpus_of_step(call, place.layout.hosts);
  if (of_step && *of_step < gpus && !call.gpus_of_set)
    findings.add(Severity::decision, "M-STEP-GPUS", call.number,
                 "Slurm gave this step " + std::to_string(*of_step) + " of the " + std::to_string(gpus) +
                     " GPUs of the job; in the pod it has all of them",
                 "Set CUDA_VISIBLE_DEVICES in front of the command, or give --gpus-per-task");
  const int used = call.gpus_of_set.value_or(0) * call.ranks.value_or(place.layout.tasks);
  if (is_background && call.gpus_of_set && used < gpus)
    findings.add(Severity::decision, "M-STEP-GPUS", call.number,
                 "Steps that run at the same time had GPUs of their own; in the pod each begins with GPU 0",
                 "Start all ranks with one srun, or set CUDA_VISIBLE_DEVICES in each program");
}

void lint_mpi_of_srun(const LauncherCall& call, const LaunchPlace& place, Findings& findings) {
  const LauncherOption* mpi = option_of(call, "--mpi");
  if (mpi == nullptr || !mpi->value.starts_with("pmi") || place.runs_in == RunsIn::launcher) return;
  if (call.ranks && *call.ranks == 1) return;
  findings.add(Severity::decision, "M-MPI-SRUN", call.number,
               "srun --mpi=" + mpi->value +
                   " connects the ranks of MPI; in the pod, each rank starts as a program of its own",
               "Use --to mpijob, where srun becomes mpirun, or start the program with mpirun");
}

bool uses_gpu(const ShellCommand& command) {
  return std::any_of(command.words.begin(), command.words.end(), [](const ShellWord& word) {
    return word.value.starts_with("--cuda") || word.value == "--device=cuda" || word.value == "cuda";
  });
}

// The pod that runs the script requests no GPU.
void lint_script_of_launcher(const ShellScript& script, const std::vector<LauncherCall>& launchers,
                             Findings& findings) {
  for (std::size_t at = 0; at < script.commands.size(); ++at) {
    const ShellCommand& command = script.commands[at];
    const bool is_launch = std::any_of(launchers.begin(), launchers.end(),
                                       [at](const LauncherCall& call) { return call.command == at; });
    if (is_launch || command.words.empty()) continue;
    const std::string_view program = base_name(command.words.front().value);
    if (program == "nvidia-smi" || program == "dcgmi")
      findings.add(Severity::warning, "M-LAUNCHER-GPU", command.number,
                   std::string(program) + " runs in the launcher, which has no GPU, and fails",
                   "Start it with mpirun, or remove it");
    else if (uses_gpu(command))
      findings.add(Severity::decision, "M-LAUNCHER-GPU", command.number,
                   "This program uses a GPU and runs in the launcher, which has none",
                   "Start it with mpirun -np 1");
  }
}

}  // namespace

void lint_launchers(const ShellScript& script, const std::vector<LauncherCall>& launchers,
                    const LaunchPlace& place, Findings& findings) {
  for (const LauncherCall& call : launchers) {
    lint_options(call, findings);
    if (call.kind != LauncherKind::srun) continue;
    lint_parts(call, place.parts, findings);
    if (call.is_setup) continue;
    lint_step_gpus(call, place, script.commands[call.command].is_background, findings);
    lint_mpi_of_srun(call, place, findings);
  }
  if (place.has_launcher_pod) lint_script_of_launcher(script, launchers, findings);
}

bool repeats_commands(const ShellScript& script, const std::vector<LauncherCall>& launchers) {
  constexpr std::string_view harmless =
      "export declare local readonly module ml cd source . set shopt echo printf trap wait conda ulimit "
      "unset "
      "hostname date exit sleep true : env printenv scontrol nvidia-smi [ [[ test which type pwd head tr cut "
      "wc "
      "if then else elif fi for while do done case esac break continue return shift";
  for (std::size_t at = 0; at < script.commands.size(); ++at) {
    const ShellCommand& command = script.commands[at];
    if (command.words.empty() || command.is_nested) continue;
    const bool is_launch = std::any_of(launchers.begin(), launchers.end(),
                                       [at](const LauncherCall& call) { return call.command == at; });
    const auto words = split_words(harmless);
    const std::string_view program = command.words.front().value;
    if (!command.output_file.empty() && command.output_file != "/dev/null") return true;
    // A program in a variable may be a launcher.
    if (!is_launch && !program.starts_with('$') &&
        std::find(words.begin(), words.end(), program) == words.end())
      return true;
  }
  return false;
}

}  // namespace autopilot::workloads::migrate
