// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace autopilot::jobs {

// What a row of a table is about: docs/reference/job-telemetry.md, telemetry.jsonl.
enum class Table : std::uint8_t { gpu, process, nic, host };
inline constexpr std::size_t kTables = 4;

// gauge: mean over the window. share: fraction of the window, 0..1. count: growth of a counter within the
// window.
enum class ValueKind : std::uint8_t { gauge, share, count };

enum class Metric : std::uint8_t {
  gpu_power_w,
  gpu_sm_clock_mhz,
  gpu_util,
  gpu_tensor,
  gpu_dram,
  gpu_mem_bytes,
  gpu_temp_c,
  gpu_mem_temp_c,
  gpu_throttle_power_cap,
  gpu_throttle_thermal,
  gpu_throttle_hw,
  gpu_throttle_brake,
  gpu_pcie_gen,
  gpu_pcie_width,
  gpu_pcie_replays,
  gpu_pcie_bytes_s,
  gpu_nvlink_bytes_s,
  gpu_nvlink_errors,
  gpu_ecc_corrected,
  gpu_ecc_uncorrected,
  process_cpu,
  process_disk_sleep,
  process_stopped,
  process_io_bytes_s,
  process_run_delay,
  nic_tx_bytes_s,
  nic_rx_bytes_s,
  nic_up,
  nic_rate_bytes_s,
  nic_link_downed,
  nic_errors,
  nic_retransmits,
  nic_cnp,
  nic_pause,
  host_cpu,
  host_run_queue,
  host_psi_cpu,
  host_psi_io,
  host_psi_memory,
  host_storage_read_bytes_s,
  host_storage_write_bytes_s,
  host_inlet_c,
};

struct MetricInfo {
  Metric metric;
  Table table;
  std::string_view name;  // column of the table
  ValueKind kind;
  double max;  // a larger value is not a value: a share above 1, a power above 10 kW
};

inline constexpr std::array<MetricInfo, 42> kMetrics{{
    {Metric::gpu_power_w, Table::gpu, "power_w", ValueKind::gauge, 1e4},
    {Metric::gpu_sm_clock_mhz, Table::gpu, "sm_clock_mhz", ValueKind::gauge, 1e4},
    {Metric::gpu_util, Table::gpu, "util", ValueKind::share, 1},
    {Metric::gpu_tensor, Table::gpu, "tensor", ValueKind::share, 1},
    {Metric::gpu_dram, Table::gpu, "dram", ValueKind::share, 1},
    {Metric::gpu_mem_bytes, Table::gpu, "mem_bytes", ValueKind::gauge, 1e13},
    {Metric::gpu_temp_c, Table::gpu, "temp_c", ValueKind::gauge, 200},
    {Metric::gpu_mem_temp_c, Table::gpu, "mem_temp_c", ValueKind::gauge, 200},
    {Metric::gpu_throttle_power_cap, Table::gpu, "throttle_power_cap", ValueKind::share, 1},
    {Metric::gpu_throttle_thermal, Table::gpu, "throttle_thermal", ValueKind::share, 1},
    {Metric::gpu_throttle_hw, Table::gpu, "throttle_hw", ValueKind::share, 1},
    {Metric::gpu_throttle_brake, Table::gpu, "throttle_brake", ValueKind::share, 1},
    {Metric::gpu_pcie_gen, Table::gpu, "pcie_gen", ValueKind::gauge, 16},
    {Metric::gpu_pcie_width, Table::gpu, "pcie_width", ValueKind::gauge, 32},
    {Metric::gpu_pcie_replays, Table::gpu, "pcie_replays", ValueKind::count, 1e12},
    {Metric::gpu_pcie_bytes_s, Table::gpu, "pcie_bytes_s", ValueKind::gauge, 1e13},
    {Metric::gpu_nvlink_bytes_s, Table::gpu, "nvlink_bytes_s", ValueKind::gauge, 1e14},
    {Metric::gpu_nvlink_errors, Table::gpu, "nvlink_errors", ValueKind::count, 1e12},
    {Metric::gpu_ecc_corrected, Table::gpu, "ecc_corrected", ValueKind::count, 1e12},
    {Metric::gpu_ecc_uncorrected, Table::gpu, "ecc_uncorrected", ValueKind::count, 1e12},
    {Metric::process_cpu, Table::process, "cpu", ValueKind::gauge, 4096},
    {Metric::process_disk_sleep, Table::process, "disk_sleep", ValueKind::share, 1},
    {Metric::process_stopped, Table::process, "stopped", ValueKind::share, 1},
    {Metric::process_io_bytes_s, Table::process, "io_bytes_s", ValueKind::gauge, 1e13},
    {Metric::process_run_delay, Table::process, "run_delay", ValueKind::share, 1},
    {Metric::nic_tx_bytes_s, Table::nic, "tx_bytes_s", ValueKind::gauge, 1e13},
    {Metric::nic_rx_bytes_s, Table::nic, "rx_bytes_s", ValueKind::gauge, 1e13},
    {Metric::nic_up, Table::nic, "up", ValueKind::share, 1},
    {Metric::nic_rate_bytes_s, Table::nic, "rate_bytes_s", ValueKind::gauge, 1e13},
    {Metric::nic_link_downed, Table::nic, "link_downed", ValueKind::count, 1e9},
    {Metric::nic_errors, Table::nic, "errors", ValueKind::count, 1e12},
    {Metric::nic_retransmits, Table::nic, "retransmits", ValueKind::count, 1e12},
    {Metric::nic_cnp, Table::nic, "cnp", ValueKind::count, 1e12},
    {Metric::nic_pause, Table::nic, "pause", ValueKind::count, 1e12},
    {Metric::host_cpu, Table::host, "cpu", ValueKind::share, 1},
    {Metric::host_run_queue, Table::host, "run_queue", ValueKind::gauge, 1e5},
    {Metric::host_psi_cpu, Table::host, "psi_cpu", ValueKind::share, 1},
    {Metric::host_psi_io, Table::host, "psi_io", ValueKind::share, 1},
    {Metric::host_psi_memory, Table::host, "psi_memory", ValueKind::share, 1},
    {Metric::host_storage_read_bytes_s, Table::host, "storage_read_bytes_s", ValueKind::gauge, 1e13},
    {Metric::host_storage_write_bytes_s, Table::host, "storage_write_bytes_s", ValueKind::gauge, 1e13},
    {Metric::host_inlet_c, Table::host, "inlet_c", ValueKind::gauge, 100},
}};

[[nodiscard]] constexpr const MetricInfo& info(Metric metric) {
  return kMetrics[static_cast<std::size_t>(metric)];
}

// nullopt for a column that the table does not have.
[[nodiscard]] constexpr std::optional<Metric> find_metric(Table table, std::string_view name) {
  for (const MetricInfo& known : kMetrics)
    if (known.table == table && known.name == name) return known.metric;
  return std::nullopt;
}

}  // namespace autopilot::jobs
