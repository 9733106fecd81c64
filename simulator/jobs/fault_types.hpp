// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "jobs/findings.hpp"

// What the generator can inject, and what it can add that only resembles a fault.
namespace autopilot::simulated_jobs {

enum class FaultClass : std::uint8_t {
  gpu_clock,
  thermal_ramp,
  power_brake,
  pcie_width,
  nvlink_errors,
  nic_degraded,
  nic_down,
  link_flap,
  leaf,
  cpu_contention,
  page_cache_stall,
  storage_stall,
  hang_lost_rank,
  hang_link_equal_counts,
  hang_mismatch,
  hang_stopped_process,
  hang_data_loader,
  xid,
  xid_application,
  crash_oom,
  node_loss,
  sdc,
  slow_replica,
  hung_engine,
};
inline constexpr std::size_t kFaultClasses = 24;

// The part that a fault belongs to. program: the job itself; storage: shared by all nodes.
enum class Target : std::uint8_t { gpu, nic, node, leaf, program, storage };

struct FaultType {
  FaultClass fault_class{};
  std::string_view name;  // the class of the label
  Target target{};
  jobs::Effect effect{};
  double weight = 0;  // share of the faults that are drawn; the weights of a kind of job are normalised
  // Bounds of the magnitude that is drawn; 0 if the class has none. For a fault of compute: the fraction that
  // the part loses or stalls; for one of the network: the fraction by which communication gets longer.
  double low = 0, high = 0;
  std::string_view title;
};

// In the order of FaultClass.
[[nodiscard]] std::span<const FaultType> fault_types();
[[nodiscard]] const FaultType& type_of(FaultClass fault_class);
[[nodiscard]] bool is_of_inference(FaultClass fault_class);

enum class Confounder : std::uint8_t {
  stage_imbalance,
  sequence_skew,
  gc_pauses,
  checkpoints,
  evaluation,
  slow_start,
  compile,
  data_stalls,
  diurnal,
  rack_offset,
  missing_windows,
  missing_columns,
  clock_skew,
  exporter_restarts,
  shared_node,
  congestion,
};
inline constexpr std::size_t kConfounders = 16;

struct ConfounderType {
  Confounder confounder{};
  std::string_view name;  // the class of the label
  std::string_view title;
};

// In the order of Confounder.
[[nodiscard]] std::span<const ConfounderType> confounder_types();

}  // namespace autopilot::simulated_jobs
