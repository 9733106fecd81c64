// SPDX-License-Identifier: Apache-2.0
#include "workloads/migrate/body/lints.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "core/parse.hpp"
#include "workloads/migrate/body/body_variables.hpp"
#include "workloads/migrate/body/site_paths.hpp"

namespace autopilot::workloads::migrate {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// A rule about commands by the name of their program.
struct ProgramRule {
  std::string_view programs;  // separated by blanks
  std::string_view id;
  Severity severity;
  std::string_view what;
  std::string_view cure;
};

constexpr std::array<ProgramRule, 9> kProgramRules{{
    {"module ml spack", "M-MODULE", Severity::decision,
     "Environment modules of the old cluster do not exist in a container; the command does nothing there",
     "Use an image with this software, then remove the line; --image IMAGE"},
    {"whoami logname", "M-WHOAMI", Severity::warning,
     "A pod may run under a user number without a name, and then this command fails or prints another name",
     "Give --user NAME, or write the path without the user name"},
    {"ppc64_cpu", "M-ARCH", Severity::warning,
     "ppc64_cpu sets SMT of POWER machines, needs root, and does not exist on x86", "Remove the line"},
    {"sbatch bsub salloc brun", "M-RESUBMIT", Severity::decision,
     "The script submits another job, and the pod has no scheduler to submit it to",
     "Migrate the other job as well, and start it with kubectl or a workflow engine"},
    {"squeue scancel sacct sinfo bjobs bkill bhosts bqueues bpeek brequeue bmod jslist",
     "M-SCHEDULER-COMMAND", Severity::warning,
     "This command asks the old scheduler, which a pod does not reach",
     "Remove it, or use kubectl with a service account"},
    {"lrun ibrun aprun", "M-LAUNCHER", Severity::decision,
     "This launcher exists only in the old cluster, and its command is not translated",
     "Start the program with mpirun or srun"},
    {"singularity apptainer shifter docker podman enroot ch-run charliecloud", "M-CONTAINER",
     Severity::decision,
     "The script starts a container itself, and the pod is one already; container runtimes rarely work "
     "inside a pod",
     "Give the inner image with --image, and run the inner command directly"},
    {"sudo su", "M-ROOT", Severity::warning, "Commands as root usually do not work in a pod",
     "Put what they set up into the image"},
    {"ssh scp", "M-SSH", Severity::warning,
     "Other nodes of the job have no ssh server unless the launcher of the manifest starts one",
     "Use the names of the pods of the job, or remove it"},
}};

// A rule about any text of a line.
struct TextRule {
  std::string_view text;
  std::string_view id;
  Severity severity;
  std::string_view what;
  std::string_view cure;
};

constexpr std::array<TextRule, 22> kTextRules{{
    {"conda activate", "M-CONDA", Severity::warning,
     "A conda environment of the old cluster is activated; the image needs the same environment",
     "Build the environment into the image, or mount it with --pvc"},
    {"source activate", "M-CONDA", Severity::warning,
     "A conda environment of the old cluster is activated; the image needs the same environment",
     "Build the environment into the image, or mount it with --pvc"},
    {"/bin/activate", "M-CONDA", Severity::warning,
     "A Python environment of the old cluster is activated; the image needs the same environment",
     "Build the environment into the image, or mount it with --pvc"},
    {"conda.sh", "M-CONDA", Severity::warning,
     "A conda environment of the old cluster is activated; the image needs the same environment",
     "Build the environment into the image, or mount it with --pvc"},
    {"file://", "M-SHARED-RDZV", Severity::decision,
     "Ranks meet through a file (file://), which needs a directory that all pods share",
     "Mount a ReadWriteMany claim there with --pvc, or use tcp://$MASTER_ADDR:$MASTER_PORT"},
    {"$(whoami)", "M-WHOAMI", Severity::warning,
     "A pod may run under a user number without a name, and then this command fails or prints another name",
     "Give --user NAME, or write the path without the user name"},
    {"id -un", "M-WHOAMI", Severity::warning,
     "A pod may run under a user number without a name, and then this command fails or prints another name",
     "Give --user NAME, or write the path without the user name"},
    {"$USER", "M-WHOAMI", Severity::warning, "USER is not set in a container",
     "Give --user NAME, or write the path without the user name"},
    {"${USER}", "M-WHOAMI", Severity::warning, "USER is not set in a container",
     "Give --user NAME, or write the path without the user name"},
    {"ppc64le", "M-ARCH", Severity::warning, "Software for POWER (ppc64le) does not run on x86 or Arm nodes",
     "Use an image for the processors of your cluster"},
    {"powerai", "M-ARCH", Severity::warning, "PowerAI exists only for POWER processors",
     "Use an image for the processors of your cluster"},
    {"wmlce", "M-ARCH", Severity::warning, "IBM WML CE exists only for POWER processors and old x86 releases",
     "Use a current image of your framework"},
    {"PAMI_", "M-VENDOR-MPI", Severity::warning,
     "Settings of IBM Spectrum MPI, without effect with other MPI libraries", "Remove them"},
    {"EGO_TOP", "M-VENDOR-MPI", Severity::warning,
     "A directory of IBM Spectrum Computing, which the image does not have", "Remove it"},
    {"--smpiargs", "M-VENDOR-MPI", Severity::warning,
     "Arguments of IBM Spectrum MPI, which other MPI libraries refuse", "Remove them"},
    {"I_MPI_", "M-VENDOR-MPI", Severity::note,
     "Settings of Intel MPI, without effect with other MPI libraries",
     "Keep them if the image has Intel MPI"},
    {"MV2_", "M-VENDOR-MPI", Severity::note, "Settings of MVAPICH2, without effect with other MPI libraries",
     "Keep them if the image has MVAPICH2"},
    {"NVIDIA_VISIBLE_DEVICES=all", "M-VISIBLE-ALL", Severity::decision,
     "NVIDIA_VISIBLE_DEVICES=all shows all GPUs of the node to the pod, also those of other pods",
     "Remove it; the device plugin sets it"},
    {"CUDA_VISIBLE_DEVICES=", "M-VISIBLE", Severity::warning,
     "CUDA_VISIBLE_DEVICES selects GPUs by number; the pod sees only its own, from 0",
     "Remove it unless the numbers are below the GPUs of the pod"},
    {"trap ", "M-TRAP", Severity::note,
     "A trap works in a pod if the shell runs no command in the foreground when the signal comes; bash waits "
     "for that command first",
     "Start the program with & and wait, as in: program & wait $!"},
    {"/dev/shm", "M-SHM", Severity::note, "/dev/shm of the pod is memory of at most --shm",
     "Raise --shm if the program needs more"},
    {"ulimit", "M-ULIMIT", Severity::note,
     "Hard limits of the container runtime apply; raising a limit may fail",
     "Remove it if the program runs without"},
}};

bool has_word(std::string_view list, std::string_view word) {
  const auto words = split_words(list);
  return std::find(words.begin(), words.end(), word) != words.end();
}

void lint_programs(const ShellScript& script, Findings& findings) {
  for (const ShellCommand& command : script.commands) {
    if (command.words.empty()) continue;
    const std::string_view program = base_name(command.words.front().value);
    for (const ProgramRule& rule : kProgramRules)
      if (has_word(rule.programs, program))
        findings.add(rule.severity, rule.id, command.number, std::string(rule.what), std::string(rule.cure));
    if (program == "scontrol" && command.words.size() > 1 && command.words[1].value.starts_with("requeue"))
      findings.add(
          Severity::decision, "M-RESUBMIT", command.number,
          "The script starts its own job again; Kubernetes starts a pod again only by the rules of its Job",
          "End the script with a code of its own and give the Job a podFailurePolicy for it, or start the "
          "next Job from outside");
  }
}

// Lines with their numbers, without comments.
template <class Visit>
void each_line(const ShellScript& script, const Visit& visit) {
  for (const ShellLine& line : script.lines) {
    int number = line.number;
    for (const std::string_view text : split(line.text, '\n')) {
      if (!trim(text).starts_with('#')) visit(number, text);
      ++number;
    }
  }
}

void lint_texts(const ShellScript& script, Findings& findings) {
  each_line(script, [&](int number, std::string_view text) {
    for (const TextRule& rule : kTextRules)
      if (contains(text, rule.text))
        findings.add(rule.severity, rule.id, number, std::string(rule.what), std::string(rule.cure));
  });
}

// Interfaces and adapters of the old cluster.
void lint_network(const ShellScript& script, Findings& findings) {
  constexpr std::array<std::string_view, 6> names{
      "NCCL_SOCKET_IFNAME=", "GLOO_SOCKET_IFNAME=", "TP_SOCKET_IFNAME=",
      "UCX_NET_DEVICES=",    "NCCL_IB_HCA=",        "OMPI_MCA_btl_tcp_if_include="};
  each_line(script, [&](int number, std::string_view text) {
    for (const std::string_view name : names)
      if (contains(text, name))
        findings.add(
            Severity::warning, "M-NIC", number,
            std::string(name.substr(0, name.size() - 1)) +
                " names a network interface of the old cluster; a pod has eth0, and other adapters only if "
                "the cluster "
                "adds them",
            "Names of InfiniBand interfaces (ib*) are replaced by eth0; check the value for your cluster");
  });
}

void lint_ports(const ShellScript& script, Findings& findings) {
  each_line(script, [&](int number, std::string_view text) {
    for (const std::string_view name :
         {"MASTER_PORT=", "--master_port=", "--master_port ", "--master-port=", "--main_process_port="}) {
      const auto at = text.find(name);
      if (at == std::string_view::npos || at + name.size() >= text.size()) continue;
      const char digit = text[at + name.size()];
      if (digit >= '0' && digit <= '9')
        findings.add(Severity::note, "M-HARDCODED-PORT", number,
                     "The port is fixed; each pod has an address of its own, so other jobs do not use it",
                     "Nothing to do");
    }
  });
}

// Samplers that run beside the program.
void lint_monitors(const ShellScript& script, const Job& job, Findings& findings) {
  constexpr std::string_view monitors =
      "sar vmstat iostat mpstat dstat nvidia-smi dcgmi top nmon collectl pidstat gpustat";
  const bool has_several_hosts = job.parts.size() > 1 || job.parts.front().hosts.value_or(1) > 1 ||
                                 job.parts.front().tasks.value_or(1) > 1;
  if (!has_several_hosts) return;
  for (const ShellCommand& command : script.commands) {
    if (!command.is_background || command.words.empty()) continue;
    if (!has_word(monitors, base_name(command.words.front().value))) continue;
    findings.add(Severity::note, "M-MON-FIRST-HOST", command.number,
                 "This monitor runs beside the script only, so that it saw the first host of the job alone",
                 "Use the metrics of the cluster; Autopilot measures all GPUs");
  }
}

void lint_shell(const Job& job, Findings& findings) {
  if (job.signal)
    findings.add(Severity::note, "M-TRAP", 0,
                 "The signal SIG" + job.signal->name +
                     " comes when the pod is ended, also when its deadline passes; preStop sends it",
                 "Let the program handle the signal, and save within " +
                     std::to_string(job.signal->before.count()) + " s");
}

}  // namespace

void lint_body(const LintInput& input, Findings& findings) {
  lint_programs(input.script, findings);
  lint_texts(input.script, findings);
  lint_network(input.script, findings);
  lint_ports(input.script, findings);
  lint_monitors(input.script, input.job, findings);
  lint_variables(input.script, findings);
  lint_site_paths(input.script, input.mounted, findings);
  lint_shell(input.job, findings);
  for (const LauncherCall& call : input.launchers)
    if (call.kind == LauncherKind::jsrun || call.kind == LauncherKind::ddlrun)
      findings.add(Severity::warning, "M-VENDOR-MPI", call.number,
                   std::string(word_of(kLauncherKinds, call.kind)) +
                       " exists only on machines of IBM; it becomes mpirun of Open MPI",
                   "Use an image with Open MPI and an ssh server");
}

UseOfAllocation lint_allocation(const Layout& layout, const std::vector<LauncherCall>& launchers,
                                bool keeps_allocation, Findings& findings) {
  UseOfAllocation use;
  const bool spans = std::any_of(launchers.begin(), launchers.end(), spans_hosts);
  if (layout.hosts > 1 && !spans) {
    use.idle_hosts = layout.hosts - 1;
    findings.add(keeps_allocation ? Severity::warning : Severity::decision, "M-IDLE-HOSTS", 0,
                 "The job has " + std::to_string(layout.hosts) +
                     " hosts, and no command starts processes on others than the first: " +
                     std::to_string(use.idle_hosts) + " hosts are idle" +
                     (keeps_allocation ? "; --keep-allocation keeps them" : "; the migrated job is one pod"),
                 keeps_allocation ? "Start the program with torchrun or mpirun on all hosts"
                                  : "Check that one pod is enough; --keep-allocation keeps all hosts");
  }
  if (layout.gpus == 0) return use;
  std::int64_t used = spans ? 0 : layout.gpus;
  const std::int64_t allocated = static_cast<std::int64_t>(layout.hosts) * layout.gpus;
  for (const LauncherCall& call : launchers) {
    if (call.is_setup) continue;
    std::int64_t ranks = call.ranks.value_or(
        call.ranks_per_host ? *call.ranks_per_host * call.hosts.value_or(layout.hosts) : 0);
    if (call.kind == LauncherKind::srun && ranks == 0) ranks = layout.tasks;
    if (call.kind == LauncherKind::mpirun && ranks == 0) ranks = layout.tasks;
    if (ranks == 0) ranks = allocated;  // torchrun and the like without a number
    used = std::max(used, ranks * call.gpus_per_rank.value_or(1));
    if (is_mpi_like(call.kind) && call.ranks && *call.ranks > layout.tasks && layout.tasks > 1)
      findings.add(Severity::decision, "M-OVERSUB", call.number,
                   "The launcher starts " + std::to_string(*call.ranks) + " ranks, and the job has " +
                       std::to_string(layout.tasks) + " tasks",
                   "Make -n of the job and of the launcher agree");
  }
  if (used < allocated) {
    use.idle_gpus = static_cast<int>(allocated - used);
    findings.add(Severity::warning, "M-IDLE-GPUS", 0,
                 std::to_string(use.idle_gpus) + " of " + std::to_string(allocated) +
                     " GPUs are idle if each rank uses one: the commands start too few ranks",
                 "Request fewer GPUs, or start one rank for each");
  }
  return use;
}

}  // namespace autopilot::workloads::migrate
