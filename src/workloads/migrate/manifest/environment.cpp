// SPDX-License-Identifier: Apache-2.0
#include "workloads/migrate/manifest/environment.hpp"

#include <algorithm>

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

}  // namespace autopilot::workloads::migrate
