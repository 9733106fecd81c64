// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "workloads/migrate/body/launcher.hpp"
#include "workloads/migrate/manifest/environment.hpp"

namespace autopilot::workloads::migrate {
namespace {

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
