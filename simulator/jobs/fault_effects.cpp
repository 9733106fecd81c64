// SPDX-License-Identifier: Apache-2.0
// What each fault does to a rank, and which traces it leaves.
#include <algorithm>

#include "simulator/jobs/fault_runs.hpp"
#include "simulator/jobs/names.hpp"

namespace autopilot::simulated_jobs {
namespace {

constexpr double kFlapWait = 4;  // seconds that communication stops while a link comes up again

}  // namespace

void FaultRuns::slow_node(JobRun& job, int node, float clock, float idle, float spin) {
  for (int gpu = 0; gpu < kGpus; ++gpu)
    if (const auto rank = job.rank_at(node, gpu)) job.slow(*rank, clock, idle, spin);
}

void FaultRuns::apply_to_gpu(const PlannedFault& fault, double ramp, JobRun& job) {
  const auto rank = job.rank_at(fault.node, fault.gpu);
  if (!rank) return;
  GpuEffect& gpu = at(fault.node).gpus[static_cast<std::size_t>(fault.gpu)];
  const auto size = static_cast<float>(fault.magnitude);
  switch (fault.fault_class) {
    case FaultClass::gpu_clock:
    case FaultClass::slow_replica:
      gpu.clock = 1 - size;
      if (fault.has_trace) gpu.throttle_hw = 0.8F;
      return job.slow(*rank, 1 - size, 0, 0);
    case FaultClass::thermal_ramp: {
      const auto strength = static_cast<float>(ramp);
      gpu.heat_c = 24 * strength;
      gpu.throttle_thermal = std::min(0.95F, std::max(0.0F, strength * 1.4F - 0.4F));
      gpu.clock = 1 - size * strength;
      return job.slow(*rank, gpu.clock, 0, 0);
    }
    case FaultClass::pcie_width:
      gpu.pcie_width = size > 0.25F ? 4 : 8;
      gpu.pcie_replays = fault.has_trace ? 3 : 0;
      return job.slow(*rank, 1, size, 0);
    case FaultClass::nvlink_errors:  // the GPUs of a node exchange data in each layer
      gpu.nvlink_errors = 40;
      return slow_node(job, fault.node, 1, 0, size);
    default:
      return;
  }
}

void FaultRuns::apply_to_network(Active& active, double from, JobRun& job, JobSurroundings& around,
                                 std::vector<jobs::Record>& out) {
  const PlannedFault& fault = active.fault;
  const auto index = static_cast<std::size_t>(fault.gpu);
  NicEffect& nic = at(fault.node).nics[index];
  if (fault.fault_class != FaultClass::link_flap) around.communication *= 1 + fault.magnitude;
  switch (fault.fault_class) {
    case FaultClass::nic_degraded:
      if (fault.has_trace) {
        nic.retransmits = 300;
        nic.errors = 8;
      } else {
        nic.rate = fault.magnitude > 1.5 ? 0.25F : 0.5F;
      }
      return;
    case FaultClass::nic_down: {
      nic.up = nic.rate = 0;
      nic.is_rerouted = true;
      if (from < active.begin + kWindow) nic.downed = 1;
      at(fault.node).nics[index ^ 1U].carries_double = true;
      return;
    }
    case FaultClass::link_flap: {
      if (from < active.next_flap) return;
      active.next_flap = from + kFlapWait / std::max(0.01, fault.magnitude);
      around.flap_wait = kFlapWait * (1 + job.plan().communication);
      nic.up = 0.7F;
      nic.downed = 1;
      nic.retransmits = 20;
      const std::string node = node_name(fault.node);
      out.emplace_back(jobs::LinkRecord{wall(from + 1), node, nic_name(fault.gpu), false});
      out.emplace_back(jobs::LinkRecord{wall(from + 4), node, nic_name(fault.gpu), true});
      return;
    }
    default:
      return apply_to_leaf(fault, false);
  }
}

void FaultRuns::apply_to_leaf(const PlannedFault& fault, bool is_congestion) {
  const int first = leaf_of(fault.node) * scenario_.nodes_of_leaf;
  for (int node = first; node < std::min(scenario_.nodes, first + scenario_.nodes_of_leaf); ++node) {
    for (NicEffect& nic : at(node).nics) {
      if (is_congestion) {
        nic.cnp += 2000;
        nic.pause += 20;
      } else {
        nic.retransmits += 80;
        nic.errors += 2;
        nic.pause += 200;
      }
    }
  }
}

void FaultRuns::apply_to_host(const PlannedFault& fault, JobRun& job, JobSurroundings& around) {
  const auto size = static_cast<float>(fault.magnitude);
  NodeEffects& node = at(fault.node);
  switch (fault.fault_class) {
    case FaultClass::power_brake:
      for (GpuEffect& gpu : node.gpus) {
        gpu.clock = 1 - size;
        gpu.throttle_brake = 0.95F;
      }
      return slow_node(job, fault.node, 1 - size, 0, 0);
    case FaultClass::cpu_contention:
      node.host.cpu = 0.65F;
      node.host.run_queue = 4;
      node.host.psi_cpu = 0.5F;
      return slow_node(job, fault.node, 1, size, 0);
    case FaultClass::page_cache_stall:
      node.host.psi_io = 0.35F;
      node.host.psi_memory = 0.3F;
      node.host.storage = 3;
      return slow_node(job, fault.node, 1, size, 0);
    case FaultClass::hung_engine:
      return job.hang_replica(fault.node);
    case FaultClass::storage_stall:
      around.load = fault.magnitude;
      for (int other = 0; other < scenario_.nodes; ++other) {
        if (!job.has_node(other)) continue;
        at(other).host.psi_io = 0.4F;
        at(other).host.storage = 0.4F;
      }
      return;
    default:
      return;
  }
}

void FaultRuns::apply_stop(const Stop& stop) {
  NodeEffects& node = at(stop.fault.node);
  const auto index = static_cast<std::size_t>(stop.fault.gpu);
  switch (stop.fault.fault_class) {
    case FaultClass::hang_link_equal_counts:
      if (stop.fault.has_trace) {
        node.nics[index].retransmits = 60;
        node.nics[index].errors = 2;
      }
      return;
    case FaultClass::hang_data_loader:
      node.host.psi_io = 0.5F;
      return;
    case FaultClass::xid:
      node.gpus[index].is_lost = true;
      return;
    case FaultClass::crash_oom:
      node.host.psi_memory = 0.6F;
      return;
    case FaultClass::node_loss:
      node.is_lost = true;
      return;
    default:
      return;
  }
}

}  // namespace autopilot::simulated_jobs
