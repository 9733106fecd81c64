// SPDX-License-Identifier: Apache-2.0
#include "workloads/migrate/manifest/environment.hpp"

#include <algorithm>

#include "workloads/migrate/body/launcher.hpp"

namespace autopilot::workloads::migrate {
namespace {

// A line of the script.
void line(std::string& out, const std::string& text) {
  out += text + '\n';
}

void set(std::string& out, const std::string& name, const std::string& value) {
  line(out, "export " + name + "=" + value);
}

// host_name NUMBER prints the name of a pod.
void add_host_names(std::string& out, const Plan& plan) {
  const std::string& name = plan.job.name;
  line(out, "host_name() {");
  if (plan.runs_in == RunsIn::one_pod) {
    line(out, "  hostname");
  } else if (plan.target == Target::pytorchjob) {
    line(out, "  if [ \"$1\" -eq 0 ]; then echo " + name + "-master-0; else echo " + name +
                  "-worker-$(($1 - 1)); fi");
  } else if (plan.layouts.size() > 1) {
    // Numbers go on from one part to the next.
    line(out, "  number=$1");
    for (std::size_t part = 0; part < plan.layouts.size(); ++part) {
      const std::string replica = plan.target == Target::jobset ? "-0" : "";
      line(out, "  if [ \"$number\" -lt " + std::to_string(plan.layouts[part].hosts) + " ]; then echo \"" +
                    name + "-" + task_name(plan, part) + replica + "-$number." + name + "\"; return; fi");
      line(out, "  number=$((number - " + std::to_string(plan.layouts[part].hosts) + "))");
    }
  } else {
    std::string first = first_host(plan);
    const auto at = first.rfind("-0.");
    if (at != std::string::npos) first.replace(at, 2, "-$1");
    line(out, "  echo \"" + first + "\"");
  }
  line(out, "}");
}

void add_identity(std::string& out, const Plan& plan) {
  const int hosts = hosts_of(plan);
  const bool is_array_job = is_array(plan) && plan.target != Target::jobset;
  std::string index = "0";
  if (plan.runs_in == RunsIn::each_pod && !is_array_job)
    index = plan.target == Target::pytorchjob ? "${RANK:-0}" : host_index(plan);
  set(out, "AUTOPILOT_HOSTS", std::to_string(hosts));
  set(out, "AUTOPILOT_TASKS_PER_HOST", std::to_string(plan.layouts.front().tasks_per_host));
  set(out, "AUTOPILOT_HOST_INDEX", "\"" + index + "\"");
  if (plan.layouts.size() > 1) {
    int before = 0;
    line(out, "case \"$AUTOPILOT_PART\" in");
    for (std::size_t part = 0; part < plan.layouts.size(); ++part) {
      line(out, "  " + std::to_string(part) +
                    ") AUTOPILOT_TASKS_PER_HOST=" + std::to_string(plan.layouts[part].tasks_per_host) +
                    "; AUTOPILOT_HOST_INDEX=$((" + std::to_string(before) + " + AUTOPILOT_HOST_INDEX)) ;;");
      before += plan.layouts[part].hosts;
    }
    line(out, "esac");
  }
  add_host_names(out, plan);
  line(out, "AUTOPILOT_HOST_NAMES=\"\"");
  line(out,
       "i=0; while [ \"$i\" -lt \"$AUTOPILOT_HOSTS\" ]; do "
       "AUTOPILOT_HOST_NAMES=\"${AUTOPILOT_HOST_NAMES:+$AUTOPILOT_HOST_NAMES }$(host_name $i)\"; "
       "i=$((i + 1)); done");
  line(out, "export AUTOPILOT_HOST_NAMES");
  line(out,
       "export MASTER_ADDR=\"${MASTER_ADDR:-${AUTOPILOT_HOST_NAMES%% *}}\" "
       "MASTER_PORT=\"${MASTER_PORT:-29500}\"");
  line(out, "export PATH=\"" + std::string(kScriptFolder) + ":$PATH\"");
  if (plan.job.parts.front().scratch_bytes) line(out, "export TMPDIR=/scratch-local");
  line(out, "export TMPDIR=\"${TMPDIR:-/tmp}\"");
}

// The number of the element of an array, from the position of the pod.
void add_array(std::string& out, const Plan& plan) {
  if (!plan.job.array || plan.job.array->indices.empty()) return;
  const std::vector<int>& indices = plan.job.array->indices;
  const std::string position =
      plan.target == Target::jobset ? "${AUTOPILOT_ARRAY_POSITION:-0}" : "${JOB_COMPLETION_INDEX:-0}";
  const int step = indices.size() > 1 ? indices[1] - indices[0] : 1;
  bool is_even = true;
  for (std::size_t at = 1; at < indices.size(); ++at)
    is_even = is_even && indices[at] - indices[at - 1] == step;
  if (is_even) {
    line(out, "array_index=$((" + std::to_string(indices.front()) + " + " + std::to_string(step) + " * " +
                  position + "))");
  } else {
    std::string list;
    for (const int index : indices)
      list += (list.empty() ? "" : " ") + std::to_string(index);
    line(out, "array_index=$(echo " + list + " | cut -d' ' -f$((" + position + " + 1)))");
  }
  const std::string first = std::to_string(indices.front());
  const std::string last = std::to_string(indices.back());
  if (plan.job.scheduler == Scheduler::lsf) {
    line(out, "export LSB_JOBINDEX=\"$array_index\" LSB_JOBINDEX_STEP=" + std::to_string(step) +
                  " LSB_JOBINDEX_END=" + last);
  } else {
    line(out, "export SLURM_ARRAY_TASK_ID=\"$array_index\" SLURM_ARRAY_TASK_COUNT=" +
                  std::to_string(indices.size()));
    line(out, "export SLURM_ARRAY_TASK_MIN=" + first + " SLURM_ARRAY_TASK_MAX=" + last +
                  " SLURM_ARRAY_TASK_STEP=" + std::to_string(step));
  }
}

// Job ids are numbers, which scripts compute with; a pod has only texts.
void add_job_id(std::string& out, const std::string& name) {
  line(out, "case \"${" + name + ":-x}\" in *[!0-9]*) " + name + "=$(printf %s \"${" + name + ":-" +
                "$(hostname)}\" | cksum | cut -d' ' -f1) ;; esac");
  line(out, "export " + name);
}

void add_slurm(std::string& out, const Plan& plan) {
  const Layout& layout = plan.layouts.front();
  const std::string hosts = std::to_string(hosts_of(plan));
  add_job_id(out, "SLURM_JOB_ID");
  line(out, "export SLURM_JOBID=\"$SLURM_JOB_ID\" SLURM_SUBMIT_DIR=\"$PWD\" SLURM_CLUSTER_NAME=kubernetes");
  line(out,
       "export SLURM_NNODES=" + hosts + " SLURM_JOB_NUM_NODES=" + hosts + " SLURM_NPROCS=\"$SLURM_NTASKS\"");
  line(out,
       "export SLURM_NTASKS_PER_NODE=\"$AUTOPILOT_TASKS_PER_HOST\" "
       "SLURM_TASKS_PER_NODE=\"$AUTOPILOT_TASKS_PER_HOST(x" +
           hosts + ")\"");
  line(out,
       "export SLURM_NODEID=\"$AUTOPILOT_HOST_INDEX\" SLURM_PROCID=$((AUTOPILOT_HOST_INDEX * "
       "AUTOPILOT_TASKS_PER_HOST)) SLURM_LOCALID=0");
  line(out, "SLURM_JOB_NODELIST=$(echo \"$AUTOPILOT_HOST_NAMES\" | tr ' ' ,)");
  line(out,
       "export SLURM_JOB_NODELIST SLURM_NODELIST=\"$SLURM_JOB_NODELIST\" SLURMD_NODENAME=\"$(hostname)\"");
  line(out, "export SLURM_CPUS_PER_TASK=" + std::to_string(layout.cpus_per_task) + " SLURM_CPUS_ON_NODE=" +
                std::to_string(layout.cpus) + " SLURM_JOB_CPUS_PER_NODE=" + std::to_string(layout.cpus));
  if (layout.gpus > 0)
    line(out, "export SLURM_GPUS_PER_NODE=" + std::to_string(layout.gpus) +
                  " SLURM_GPUS_ON_NODE=" + std::to_string(layout.gpus) +
                  " SLURM_GPUS=" + std::to_string(static_cast<long long>(layout.gpus) * layout.hosts));
  const GpuRequest& gpu = plan.job.parts.front().gpu;
  if (gpu.per_task) set(out, "SLURM_GPUS_PER_TASK", std::to_string(*gpu.per_task));
  if (is_array(plan)) line(out, "export SLURM_ARRAY_JOB_ID=\"$SLURM_JOB_ID\"");
  line(out, "export SLURM_TMPDIR=\"$TMPDIR\"");
}

void add_lsf(std::string& out, const Plan& plan) {
  const Layout& layout = plan.layouts.front();
  add_job_id(out, "LSB_JOBID");
  const std::string each = std::to_string(layout.tasks_per_host);
  line(out,
       "export LSB_BATCH_JID=\"$LSB_JOBID\" LSB_SUBCWD=\"$PWD\" LS_SUBCWD=\"$PWD\" "
       "LSB_MAX_NUM_PROCESSORS=\"$LSB_DJOB_NUMPROC\"");
  line(out,
       "LSB_HOSTS=\"\"; LSB_MCPU_HOSTS=\"\"; LSB_DJOB_HOSTFILE=/tmp/autopilot-lsb-hosts; : > "
       "\"$LSB_DJOB_HOSTFILE\"");
  line(out, "for host in $AUTOPILOT_HOST_NAMES; do");
  line(out, "  LSB_MCPU_HOSTS=\"${LSB_MCPU_HOSTS:+$LSB_MCPU_HOSTS }$host " + each + "\"");
  line(out, "  i=0; while [ \"$i\" -lt " + each +
                " ]; do LSB_HOSTS=\"${LSB_HOSTS:+$LSB_HOSTS }$host\"; echo \"$host\" >> "
                "\"$LSB_DJOB_HOSTFILE\"; i=$((i + 1)); done");
  line(out, "done");
  line(out, "export LSB_HOSTS LSB_MCPU_HOSTS LSB_DJOB_HOSTFILE");
  if (!plan.job.output.empty()) set(out, "LSB_OUTPUTFILE", shell_quoted(plan.job.output));
}

// mpirun needs the hosts, and workers that accept connections.
void add_ranks_file(std::string& out, const Plan& plan) {
  if (plan.runs_in != RunsIn::launcher) return;
  const std::string each = std::to_string(plan.layouts.front().tasks_per_host);
  if (plan.target != Target::mpijob)
    line(out, "for host in $AUTOPILOT_HOST_NAMES; do echo \"$host slots=" + each + "\"; done > " +
                  ranks_file(plan));
  line(out, "export OMPI_MCA_orte_default_hostfile=" + ranks_file(plan) +
                " PRTE_MCA_prte_default_hostfile=" + ranks_file(plan));
  line(out, "export HYDRA_LAUNCHER=ssh OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1");
  if (plan.target == Target::mpijob) return;
  line(out, "# Workers accept connections within ten minutes, or the job fails.");
  line(out, "deadline=$(($(date +%s) + 600))");
  line(out, "for host in $AUTOPILOT_HOST_NAMES; do");
  line(out, "  [ \"$host\" = \"$(hostname)\" ] && continue");
  line(out,
       "  until ssh -o BatchMode=yes -o StrictHostKeyChecking=no -o ConnectTimeout=5 \"$host\" true "
       "2>/dev/null; do");
  line(out,
       "    if [ \"$(date +%s)\" -ge \"$deadline\" ]; then echo \"no ssh server on $host within 600 s\" >&2; "
       "exit 1; fi");
  line(out, "    sleep 2");
  line(out, "  done");
  line(out, "done");
}

constexpr std::string_view kScontrol = R"(#!/bin/sh
# Replaces scontrol of Slurm: the names of the pods of this job.
case "$1 $2" in
  "show hostname"*) echo "${3:-$SLURM_JOB_NODELIST}" | tr ', ' '\n\n' ;;
  "show job"*) echo "JobId=$SLURM_JOB_ID JobName=$SLURM_JOB_NAME JobState=RUNNING NodeList=$SLURM_JOB_NODELIST" ;;
  *) echo "scontrol $*: not available in the migrated job" >&2; exit 1 ;;
esac
)";

constexpr std::string_view kSrun = R"(#!/bin/sh
# Replaces srun of Slurm: starts the ranks of this pod. The other pods of the job do the same.
ranks=$AUTOPILOT_TASKS_PER_HOST
hosts=$AUTOPILOT_HOSTS
part=${AUTOPILOT_PART:-0}
total=
status=0
# GPUs of each rank, and ranks that share them; empty: each rank has all GPUs.
gpus=${SLURM_GPUS_PER_TASK:-}
share=1
binds_gpus=yes
stop() {
  echo "srun: $1" >&2
  exit 2
}
# 0: the option has a value; 1: it has none, or one behind "="; 2: unknown.
kind_of() {
  case "$1" in
    @VALUES@) return 0 ;;
    @FLAGS@) return 1 ;;
  esac
  return 2
}
# A list of parts: 0,2-3
has_this_part() {
  for item in $(echo "$1" | tr ',' ' '); do
    if [ "$part" -ge "${item%-*}" ] && [ "$part" -le "${item#*-}" ]; then return 0; fi
  done
  return 1
}
# ALL,NAME=VALUE
set_variables() {
  set -f
  old_ifs=$IFS
  IFS=,
  for item in $1; do
    case "$item" in *=*) export "${item?}" ;; esac
  done
  IFS=$old_ifs
  set +f
}
gpus_of_rank() {
  at=$(($1 / share * gpus))
  end=$((at + gpus))
  list=
  while [ "$at" -lt "$end" ]; do
    list="${list:+$list,}$at"
    at=$((at + 1))
  done
  echo "$list"
}
# "srun A : B": each part of a heterogeneous job has its own program.
case " $* " in
  *" : "*)
    segment=0
    words=$#
    while [ "$words" -gt 0 ]; do
      word=$1
      shift
      words=$((words - 1))
      if [ "$word" = : ]; then segment=$((segment + 1)); continue; fi
      if [ "$segment" -eq "$part" ]; then set -- "$@" "$word"; fi
    done ;;
esac
while [ $# -gt 0 ]; do
  name=$1
  value=
  case "$1" in
    --) shift; break ;;
    --*=*)
      name=${1%%=*}
      value=${1#*=}
      kind_of "$name"
      [ $? -ne 2 ] || stop "the option $name is not known; remove it from the script"
      shift ;;
    --*|-?)
      kind_of "$1"
      case $? in
        0)
          [ $# -gt 1 ] || stop "the option $1 has no value"
          value=$2
          shift 2 ;;
        1) shift ;;
        *) stop "the option $1 is not known; remove it from the script" ;;
      esac ;;
    -*)
      name=${1%"${1#??}"}
      if kind_of "$name"; then
        value=${1#??}
      else
        case "${1#-}" in *[!luvsOQKXZEkIH0-9]*) stop "the option $1 is not known; remove it from the script" ;; esac
        name=
      fi
      shift ;;
    *) break ;;
  esac
  case "$name" in
    -n|--ntasks) total=$value ;;
    -N|--nodes) hosts=${value%%-*} ;;
    --ntasks-per-node|--tasks-per-node) ranks=$value ;;
    --ntasks-per-gpu) gpus=1; share=$value; ranks=$((${SLURM_GPUS_ON_NODE:-1} * value)) ;;
    --gpus-per-task) gpus=${value##*:} ;;
    --gpu-bind)
      case "$value" in
        none) binds_gpus= ;;
        *single:*) gpus=1; share=${value##*single:} ;;
        *per_task:*) gpus=${value##*per_task:} ;;
      esac ;;
    --het-group|--pack-group) has_this_part "$value" || exit 0 ;;
    --export) set_variables "$value" ;;
    -D|--chdir) cd "$value" || stop "no directory $value" ;;
    --multi-prog) stop "--multi-prog is not available in the migrated job; start each program with a srun of its own" ;;
  esac
done
[ $# -gt 0 ] || stop "no program is given"
[ -n "$binds_gpus" ] || gpus=
case "$gpus" in *[!0-9]*) gpus=1 ;; esac
[ "$AUTOPILOT_HOST_INDEX" -lt "$hosts" ] || exit 0
first=$((AUTOPILOT_HOST_INDEX * ranks))
if [ -n "$total" ]; then
  if [ "$total" -lt "$hosts" ]; then ranks=1; first=$AUTOPILOT_HOST_INDEX; fi
  [ $((first + ranks)) -le "$total" ] || ranks=$((total - first))
else
  total=$((hosts * ranks))
fi
[ "$ranks" -gt 0 ] || exit 0
if [ -n "$gpus" ] && [ -n "${SLURM_GPUS_ON_NODE:-}" ] && [ $(((ranks + share - 1) / share * gpus)) -gt "$SLURM_GPUS_ON_NODE" ]; then
  stop "$ranks ranks need more GPUs than the $SLURM_GPUS_ON_NODE of this pod"
fi
i=0
pids=
while [ "$i" -lt "$ranks" ]; do
  (
    if [ -n "$gpus" ]; then
      CUDA_VISIBLE_DEVICES=$(gpus_of_rank "$i")
      export CUDA_VISIBLE_DEVICES
    fi
    export SLURM_PROCID=$((first + i)) SLURM_LOCALID=$i SLURM_NODEID="$AUTOPILOT_HOST_INDEX" SLURM_NTASKS="$total" \
      SLURM_STEP_NUM_TASKS="$total" SLURM_STEP_NUM_NODES="$hosts"
    exec "$@"
  ) &
  pids="$pids $!"
  i=$((i + 1))
done
trap 'kill -TERM $pids 2>/dev/null' TERM
trap 'kill -USR1 $pids 2>/dev/null' USR1
for pid in $pids; do
  wait "$pid"
  code=$?
  while kill -0 "$pid" 2>/dev/null; do wait "$pid"; code=$?; done
  [ "$code" -le "$status" ] || status=$code
done
exit "$status"
)";

constexpr std::string_view kGpusOfRank = R"(#!/bin/sh
# gpus_of_rank GPUS RANKS PROGRAM...: starts a rank of MPI; in each pod, RANKS ranks share GPUS GPUs.
rank=${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-${MV2_COMM_WORLD_LOCAL_RANK:-}}}
if [ -z "$rank" ]; then
  echo "gpus_of_rank: mpirun of this image sets no local rank; use Open MPI, MPICH or MVAPICH2" >&2
  exit 2
fi
at=$((rank / $2 * $1))
end=$((at + $1))
CUDA_VISIBLE_DEVICES=
while [ "$at" -lt "$end" ]; do
  CUDA_VISIBLE_DEVICES="${CUDA_VISIBLE_DEVICES:+$CUDA_VISIBLE_DEVICES,}$at"
  at=$((at + 1))
done
export CUDA_VISIBLE_DEVICES
shift 2
exec "$@"
)";

constexpr std::string_view kModule = R"(#!/bin/sh
# Replaces environment modules, which the image does not have.
echo "$(basename "$0") $*: skipped; the image has to have this software" >&2
)";

constexpr std::string_view kWhoami = R"(#!/bin/sh
echo "${USER:-user}"
)";

constexpr std::string_view kSsh = R"(# Keys of the Secret for ssh between the pods of this job.
mkdir -p "$HOME/.ssh" && chmod 700 "$HOME/.ssh"
cp /autopilot/ssh/id_ed25519 /autopilot/ssh/authorized_keys "$HOME/.ssh/" && chmod 600 "$HOME"/.ssh/*
)";

std::string joined_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names)
    text += (text.empty() ? "" : "|") + name;
  return text;
}

std::string srun_program() {
  std::string text(kSrun);
  const SrunOptions options = srun_options();
  const auto fill = [&text](std::string_view mark, const std::string& names) {
    text.replace(text.find(mark), mark.size(), names);
  };
  fill("@VALUES@", joined_names(options.with_value));
  fill("@FLAGS@", joined_names(options.flags));
  return text;
}

bool starts_ranks_with_gpus(const Plan& plan) {
  return std::any_of(plan.files.begin(), plan.files.end(), [](const auto& file) {
    return file.first == "job.sh" && file.second.find(kGpusOfRankProgram) != std::string::npos;
  });
}

}  // namespace

std::string shell_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += c;
  }
  return quoted + "'";
}

std::string environment_text(const Plan& plan) {
  std::string out = "# Variables of " + std::string(title_of(plan.job.scheduler)) +
                    " in this pod, written by autopilot migrate.\n";
  add_identity(out, plan);
  add_array(out, plan);
  if (plan.job.scheduler == Scheduler::slurm)
    add_slurm(out, plan);
  else
    add_lsf(out, plan);
  if (plan.target == Target::pytorchjob)
    line(out, "# The operator sets RANK and WORLD_SIZE for pods; torchrun sets those of ranks.");
  if (hosts_of(plan) > 1) {
    line(out, "for host in $AUTOPILOT_HOST_NAMES; do echo \"$host slots=" +
                  std::to_string(std::max(1, plan.layouts.front().gpus)) +
                  "\"; done > /tmp/autopilot-hosts-deepspeed");
  }
  add_ranks_file(out, plan);
  if (!plan.job.input.empty() && plan.job.input != "/dev/null")
    line(out, "exec < " + shell_quoted(plan.job.input));
  if (!plan.job.post_command.empty()) line(out, "trap " + shell_quoted(plan.job.post_command) + " EXIT");
  if (!plan.job.pre_command.empty()) line(out, plan.job.pre_command);
  return out;
}

std::vector<std::pair<std::string, std::string>> stand_in_programs(const Plan& plan) {
  std::vector<std::pair<std::string, std::string>> programs;
  if (plan.job.scheduler == Scheduler::slurm) {
    programs.emplace_back("srun", srun_program());
    programs.emplace_back("scontrol", kScontrol);
  }
  if (starts_ranks_with_gpus(plan)) programs.emplace_back("gpus_of_rank", kGpusOfRank);
  programs.emplace_back("module", kModule);
  if (!plan.settings.user.empty() || plan.target == Target::openshift)
    programs.emplace_back("whoami", kWhoami);
  if (needs_ssh_keys(plan)) programs.emplace_back("ssh.sh", kSsh);
  return programs;
}

}  // namespace autopilot::workloads::migrate
