// SPDX-License-Identifier: Apache-2.0
#include "simulator/jobs/fault_types.hpp"

#include <array>

namespace autopilot::simulated_jobs {
namespace {

using enum jobs::Effect;

// Weights: the classes of Llama 3 (arXiv 2407.21783, table 5: GPU and memory 57 %, software 13 %, network and
// NIC 10 %, host 8 %) for faults that end a job, and as many faults that slow it, which that table lacks.
// Magnitudes: MegaScale (-10 % speed, -20 % by heat), GREYHOUND (congestion -28 to -45 %).
constexpr std::array<FaultType, kFaultClasses> kTypes{{
    {FaultClass::gpu_clock, "gpu_clock", Target::gpu, slow, 14, .05, .5, "the SM clock of a GPU is too low"},
    {FaultClass::thermal_ramp, "thermal_ramp", Target::gpu, slow, 6, .1, .3, "a GPU gets hot and slows down"},
    {FaultClass::power_brake, "power_brake", Target::node, slow, 3, .2, .5, "the power brake of a node"},
    {FaultClass::pcie_width, "pcie_width", Target::gpu, slow, 5, .08, .4, "a PCIe link lost lanes"},
    {FaultClass::nvlink_errors, "nvlink_errors", Target::gpu, slow, 5, .08, .4, "NVLink repeats transfers"},
    {FaultClass::nic_degraded, "nic_degraded", Target::nic, slow, 6, .5, 3, "a NIC repeats packets"},
    {FaultClass::nic_down, "nic_down", Target::nic, slow, 3, .8, 1.2, "a NIC is down; its GPU uses another"},
    {FaultClass::link_flap, "link_flap", Target::nic, slow, 4, .03, .12, "a link goes down and comes up"},
    {FaultClass::leaf, "leaf", Target::leaf, slow, 3, .5, 2, "a leaf switch loses packets"},
    {FaultClass::cpu_contention, "cpu_contention", Target::node, slow, 4, .1, .5,
     "another program takes the processors of a node"},
    {FaultClass::page_cache_stall, "page_cache_stall", Target::node, slow, 3, .1, .5,
     "a node waits for its page cache"},
    {FaultClass::storage_stall, "storage_stall", Target::storage, slow, 3, .15, .6,
     "shared storage is slow for all nodes"},
    {FaultClass::hang_lost_rank, "hang_lost_rank", Target::gpu, hang, 5, 0, 0,
     "a rank never reaches the next collective"},
    {FaultClass::hang_link_equal_counts, "hang_link_equal_counts", Target::nic, hang, 3, 0, 0,
     "a transfer is stuck; all ranks started the collective"},
    {FaultClass::hang_mismatch, "hang_mismatch", Target::program, hang, 3, 0, 0,
     "ranks wait in different collectives"},
    {FaultClass::hang_stopped_process, "hang_stopped_process", Target::gpu, hang, 2, 0, 0,
     "the process of a rank is stopped"},
    {FaultClass::hang_data_loader, "hang_data_loader", Target::gpu, hang, 3, 0, 0,
     "a rank waits for storage in uninterruptible sleep"},
    {FaultClass::xid, "xid", Target::gpu, crash, 12, 0, 0, "a fatal Xid ends a rank"},
    {FaultClass::xid_application, "xid_application", Target::program, crash, 5, 0, 0,
     "an Xid of the program itself ends a rank"},
    {FaultClass::crash_oom, "crash_oom", Target::program, crash, 4, 0, 0, "a rank is killed for memory"},
    {FaultClass::node_loss, "node_loss", Target::node, crash, 4, 0, 0, "a node disappears"},
    {FaultClass::sdc, "sdc", Target::gpu, none, 1, 0, 0, "a GPU computes wrong results; the loss is NaN"},
    {FaultClass::slow_replica, "slow_replica", Target::gpu, slow, 3, .15, .5, "an inference replica is slow"},
    {FaultClass::hung_engine, "hung_engine", Target::node, hang, 2, 0, 0,
     "an inference replica answers nothing"},
}};

constexpr std::array<ConfounderType, kConfounders> kConfounderTypes{{
    {Confounder::stage_imbalance, "stage_imbalance", "pipeline stages with unequal work"},
    {Confounder::sequence_skew, "sequence_skew", "sequences of unequal length, at random ranks"},
    {Confounder::gc_pauses, "gc_pauses", "pauses for garbage collection, at random ranks"},
    {Confounder::checkpoints, "checkpoints", "long checkpoints"},
    {Confounder::evaluation, "evaluation", "evaluations between steps"},
    {Confounder::slow_start, "slow_start", "a start-up of up to 30 min"},
    {Confounder::compile, "compile", "compilation before the first step"},
    {Confounder::data_stalls, "data_stalls", "all ranks wait for data now and then"},
    {Confounder::diurnal, "diurnal", "speed and inlet temperature change over the day"},
    {Confounder::rack_offset, "rack_offset", "some leaves have warmer air"},
    {Confounder::missing_windows, "missing_windows", "windows are missing"},
    {Confounder::missing_columns, "missing_columns", "some metrics are not measured"},
    {Confounder::clock_skew, "clock_skew", "clocks of nodes differ by up to 2 s"},
    {Confounder::exporter_restarts, "exporter_restarts", "counters without a value after a restart"},
    {Confounder::shared_node, "shared_node", "two jobs share a node"},
    {Confounder::congestion, "congestion", "another job congests a leaf"},
}};

}  // namespace

std::span<const FaultType> fault_types() {
  return kTypes;
}

const FaultType& type_of(FaultClass fault_class) {
  return kTypes[static_cast<std::size_t>(fault_class)];
}

bool is_of_inference(FaultClass fault_class) {
  return fault_class == FaultClass::slow_replica || fault_class == FaultClass::hung_engine;
}

std::span<const ConfounderType> confounder_types() {
  return kConfounderTypes;
}

}  // namespace autopilot::simulated_jobs
