// SPDX-License-Identifier: Apache-2.0
#include "workloads/migrate/job/layout.hpp"

#include <algorithm>
#include <string>

namespace autopilot::workloads::migrate {
namespace {

constexpr int kMostHosts = 10'000;
constexpr int kMostPerHost = 1024;

int divided_up(int number, int by) {
  return static_cast<int>((static_cast<std::int64_t>(number) + by - 1) / by);
}

class Planner {
 public:
  Planner(const JobPart& part, Scheduler scheduler, const NodeShape& node, const LaunchDemand& demand,
          Findings& findings)
      : part_(part),
        is_lsf_(scheduler == Scheduler::lsf),
        node_(node),
        demand_(demand),
        findings_(findings) {}

  Layout plan() {
    layout_.cpus_per_task = part_.cpus_per_task.value_or(demand_.cpus_per_rank.value_or(1));
    if (is_lsf_)
      plan_lsf_hosts();
    else
      plan_slurm_hosts();
    if (layout_.hosts > kMostHosts) {
      findings_.add(Severity::decision, "M-VALUE", 0,
                    std::to_string(layout_.hosts) + " hosts are more than this migration supports (" +
                        std::to_string(kMostHosts) + "); the job gets that many",
                    "Split the job");
      layout_.hosts = kMostHosts;
    }
    plan_gpus();
    plan_cpus();
    plan_memory();
    return layout_;
  }

 private:
  void plan_lsf_hosts() {
    const int tasks = part_.tasks.value_or(demand_.ranks.value_or(1));
    layout_.tasks = tasks;
    if (part_.hosts) {
      layout_.hosts = *part_.hosts;
      layout_.tasks_per_host =
          demand_.ranks_per_host.value_or(divided_up(demand_.ranks.value_or(tasks), layout_.hosts));
      const std::int64_t all = static_cast<std::int64_t>(layout_.hosts) * layout_.tasks_per_host;
      if (!part_.tasks && !demand_.ranks)
        layout_.tasks = static_cast<int>(std::min<std::int64_t>(all, 10'000'000));
    } else if (part_.is_one_host) {
      layout_.tasks_per_host = tasks;
    } else if (part_.tasks_per_host) {
      const int each = *part_.tasks_per_host;
      if (each > tasks)
        findings_.add(Severity::decision, "M-PTILE-GT-N", 0,
                      "span[ptile=" + std::to_string(each) + "] with -n " + std::to_string(tasks) +
                          ": LSF starts no job with more tasks on a host than tasks; the pod gets " +
                          std::to_string(tasks),
                      "Write span[hosts=1], or the number of tasks that you need with -n");
      layout_.tasks_per_host = std::min(each, tasks);
      layout_.hosts = divided_up(tasks, layout_.tasks_per_host);
    } else if (demand_.hosts && !part_.tasks) {
      layout_.hosts = *demand_.hosts;
      layout_.tasks_per_host = demand_.ranks_per_host.value_or(divided_up(tasks, layout_.hosts));
    } else {
      spread_by_cpus(tasks);
    }
  }

  // The scheduler may spread tasks freely.
  void spread_by_cpus(int tasks) {
    const int each = node_.cpus ? std::max(1, *node_.cpus / layout_.cpus_per_task) : tasks;
    layout_.tasks = tasks;
    layout_.hosts = divided_up(tasks, each);
    layout_.tasks_per_host = divided_up(tasks, layout_.hosts);
    if (tasks > 1 && !node_.cpus)
      findings_.add(Severity::warning, "M-ONE-HOST", 0,
                    std::to_string(tasks) +
                        " tasks without a number of hosts: " + (is_lsf_ ? "LSF" : "Slurm") +
                        " spreads them over as many hosts as it takes; the migrated job is one pod",
                    "Give --node-shape cpus=N,gpus=N,mem=SIZE if the tasks need several nodes");
  }

  void plan_slurm_hosts() {
    std::optional<int> per_host = part_.tasks_per_host;
    const auto gpus = part_.gpu.per_host ? part_.gpu.per_host : part_.gpu.total;
    if (!per_host && part_.tasks_per_gpu && gpus)
      per_host = std::min(kMostPerHost, *part_.tasks_per_gpu * *gpus);
    if (part_.hosts) {
      layout_.hosts = *part_.hosts;
      layout_.tasks = part_.tasks.value_or(layout_.hosts * std::min(per_host.value_or(1), kMostPerHost));
      layout_.tasks_per_host = part_.tasks ? divided_up(*part_.tasks, layout_.hosts) : per_host.value_or(1);
    } else if (part_.tasks && per_host) {
      layout_.tasks = *part_.tasks;
      layout_.tasks_per_host = std::min(*per_host, layout_.tasks);
      layout_.hosts = divided_up(layout_.tasks, layout_.tasks_per_host);
    } else if (part_.tasks) {
      spread_by_cpus(*part_.tasks);
    } else {
      layout_.tasks_per_host = layout_.tasks = per_host.value_or(1);
      if (part_.gpu.total && node_.gpus && *node_.gpus > 0)
        layout_.hosts = divided_up(*part_.gpu.total, *node_.gpus);
    }
  }

  void plan_gpus() {
    const GpuRequest& gpu = part_.gpu;
    std::int64_t gpus = 0;
    if (gpu.per_host)
      gpus = *gpu.per_host;
    else if (gpu.per_task)
      gpus = static_cast<std::int64_t>(*gpu.per_task) * layout_.tasks_per_host;
    else if (gpu.per_socket)
      gpus = gpus_of_sockets(*gpu.per_socket);
    else if (gpu.total)
      gpus = total_per_host(*gpu.total);
    else if (demand_.gpus_per_rank)
      gpus = static_cast<std::int64_t>(*demand_.gpus_per_rank) * layout_.tasks_per_host;
    else if (part_.is_exclusive && node_.gpus)
      gpus = *node_.gpus;
    layout_.gpus = static_cast<int>(std::min<std::int64_t>(gpus, kMostPerHost));
    if (node_.gpus && layout_.gpus > *node_.gpus)
      findings_.add(Severity::decision, "M-NODE-SHAPE", 0,
                    "The job needs " + std::to_string(layout_.gpus) + " GPUs on one node, and a node has " +
                        std::to_string(*node_.gpus) + "; its pods would never start",
                    "Use more nodes with fewer GPUs each, or correct --node-shape");
  }

  std::int64_t gpus_of_sockets(int each) {
    if (!part_.sockets_per_host)
      findings_.add(
          Severity::decision, "M-GPU-SOCKET", 0,
          "--gpus-per-socket=" + std::to_string(each) +
              " depends on the sockets of a node, which the script does not state; the pod gets the "
              "GPUs of one socket",
          "Give --gpus-per-node, or add --sockets-per-node");
    return static_cast<std::int64_t>(each) * part_.sockets_per_host.value_or(1);
  }

  int total_per_host(int total) {
    const int each = divided_up(total, layout_.hosts);
    if (total % layout_.hosts != 0)
      findings_.add(Severity::decision, "M-GPU-SPLIT", 0,
                    std::to_string(total) + " GPUs cannot be split evenly over " +
                        std::to_string(layout_.hosts) + " nodes; each pod gets " + std::to_string(each),
                    "Choose a number of nodes that divides the number of GPUs");
    return each;
  }

  void plan_cpus() {
    std::int64_t cpus = static_cast<std::int64_t>(layout_.tasks_per_host) * layout_.cpus_per_task;
    if (part_.cpus_per_gpu) cpus = static_cast<std::int64_t>(*part_.cpus_per_gpu) * std::max(layout_.gpus, 1);
    layout_.is_exclusive = part_.is_exclusive;
    if (part_.is_exclusive && node_.cpus) cpus = *node_.cpus;
    layout_.cpus = static_cast<int>(std::min<std::int64_t>(cpus, 100'000));
    if (node_.cpus && layout_.cpus > *node_.cpus)
      findings_.add(Severity::decision, "M-NODE-SHAPE", 0,
                    "The job needs " + std::to_string(layout_.cpus) +
                        " processors on one node, and a node has " + std::to_string(*node_.cpus) +
                        "; its pods would never start",
                    "Use more nodes, or correct --node-shape");
  }

  void plan_memory() {
    const auto& wanted = part_.memory ? part_.memory : part_.memory_limit;
    if (wanted) {
      layout_.memory_bytes = bytes_of_host(*wanted);
      note_reservation(*wanted);
    } else if ((part_.wants_whole_memory || part_.is_exclusive) && node_.memory_bytes) {
      // The kubelet and the system keep a part of every node.
      layout_.memory_bytes = *node_.memory_bytes / 100 * 95;
    }
    layout_.memory_limit_bytes = layout_.memory_bytes;
    if (part_.memory && part_.memory_limit) limit_memory(bytes_of_host(*part_.memory_limit));
    if (part_.wants_whole_memory && !node_.memory_bytes)
      findings_.add(Severity::warning, "M-WHOLE-NODE", 0,
                    "--mem=0 requests all memory of a node, and the size of your nodes is not known; the pod "
                    "has no memory limit",
                    "Give --node-shape mem=SIZE, for example mem=1024G");
    if (node_.memory_bytes && layout_.memory_bytes > *node_.memory_bytes)
      findings_.add(Severity::decision, "M-NODE-SHAPE", 0,
                    "The job needs more memory on one node than a node has; its pods would never start",
                    "Request less memory, use more nodes, or correct --node-shape");
  }

  [[nodiscard]] std::int64_t bytes_of_host(const Memory& memory) const {
    double bytes = static_cast<double>(memory.bytes);
    if (memory.scope == Scope::task) bytes *= layout_.tasks_per_host;
    if (memory.scope == Scope::cpu) bytes *= layout_.cpus;
    if (memory.scope == Scope::gpu) bytes *= std::max(layout_.gpus, 1);
    if (memory.scope == Scope::job) bytes /= layout_.hosts;
    return static_cast<std::int64_t>(std::min(bytes, 0x1p60));
  }

  // Kubernetes refuses a limit below the request.
  void limit_memory(std::int64_t limit) {
    if (limit < layout_.memory_bytes)
      findings_.add(
          Severity::decision, "M-MEMORY-LIMIT", 0,
          "-M limits the memory to less than rusage[mem=] reserves; the limit of the pod is what it "
          "requests",
          "Make -M at least as large as rusage[mem=]");
    layout_.memory_limit_bytes = std::max(limit, layout_.memory_bytes);
  }

  void note_reservation(const Memory& memory) {
    if (!is_lsf_ || !part_.memory || memory.has_scope || layout_.tasks_per_host < 2) return;
    findings_.add(
        Severity::note, "M-MEMORY-SCOPE", 0,
        "rusage[mem=] counts for each host; if RESOURCE_RESERVE_PER_TASK=Y is set in lsb.resources, "
        "LSF reserved it for each of the " +
            std::to_string(layout_.tasks_per_host) + " tasks of a host",
        "Write mem=SIZE/task or mem=SIZE/host, so that it does not depend on the cluster");
  }

  const JobPart& part_;
  bool is_lsf_;
  const NodeShape& node_;
  const LaunchDemand& demand_;
  Findings& findings_;
  Layout layout_;
};

}  // namespace

Layout layout_of(const JobPart& part, Scheduler scheduler, const NodeShape& node, const LaunchDemand& demand,
                 Findings& findings) {
  return Planner(part, scheduler, node, demand, findings).plan();
}

}  // namespace autopilot::workloads::migrate
