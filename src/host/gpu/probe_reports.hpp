// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace autopilot::host {

// What autopilot-gpu-probe says of the GPUs of a machine; docs/gpu-probe.md explains each.
struct GpuProbeReport {
  struct Series {
    std::string name;              // "host_to_device"
    std::string peer;              // UUID of the other GPU, of a copy between two; else empty
    std::optional<double> median;  // nothing: no sample
  };
  struct Wrong {
    std::string where;
    std::uint64_t count = 0;
    std::string detail;
  };
  struct Test {
    std::string name;       // "pcie"
    bool together = false;  // while the other GPUs did the same
    std::string skipped;    // why the GPU cannot do it; empty: it did
    std::vector<Series> measured;
    std::vector<Wrong> wrong;
    std::vector<Wrong> disputed;  // by kernels of the probe, of which another one was right
    std::map<std::string, double, std::less<>> facts;  // "bytes_tested"
  };
  struct Sensors {
    std::string test;                                   // that ran then; empty: none
    std::map<std::string, double, std::less<>> values;  // "power_w"
    std::vector<std::string> throttle_reasons;
  };
  struct Gpu {
    std::string pci_address;  // in lower case
    std::string uuid;
    std::string name;
    std::string error;  // what ended its tests early; empty: nothing did
    std::vector<Test> tests;
    std::vector<Sensors> sensors;

    [[nodiscard]] const Test* find(std::string_view test, bool together) const;
    // In some test.
    [[nodiscard]] bool has_wrong() const;
  };

  std::string error;     // why no GPU was looked at; empty: they were
  bool stopped = false;  // by a signal, before the end
  std::vector<Gpu> gpus;

  [[nodiscard]] const Gpu* find(std::string_view pci_address) const;
};

inline constexpr std::size_t kMaxGpuProbeReport = std::size_t{16} << 20;  // bytes
inline constexpr std::size_t kMaxProbedGpus = 64;
inline constexpr std::size_t kMaxProbeWord = 256;  // bytes; longer texts are cut

// malformed: what is no such report of format 1, names the member. Pure, and safe with what a stranger wrote.
[[nodiscard]] Result<GpuProbeReport> parse_gpu_probe_report(std::string_view text);

// That exit code of the program (docs/gpu-probe.md) has a report with it.
[[nodiscard]] bool leaves_gpu_probe_report(int exit_code);
// Likewise, of a program that ended so. malformed as well: it says that a result was wrong, and names none.
[[nodiscard]] Result<GpuProbeReport> gpu_probe_report_of(std::string_view text, int exit_code);

// What all_reduce_perf of nccl-tests writes with `-J FILE`.
struct NcclReport {
  struct Row {
    std::uint64_t bytes = 0;
    double algorithm_bandwidth = 0;  // GB/s of 10^9 bytes, the slower one of in place and out of place
    double bus_bandwidth = 0;        // likewise: what the links carried, whatever the number of GPUs
    // Elements that were not the right ones, of both. Nothing: those that were measured were not all checked,
    // and no wrong one was told.
    std::optional<std::uint64_t> wrong;
  };
  std::vector<Row> rows;  // as written
};

inline constexpr std::size_t kMaxNcclReport = std::size_t{1} << 20;  // bytes
inline constexpr std::size_t kMaxNcclRows = 1024;

// malformed: what is no such report, names the member. Pure, and safe with what a stranger wrote.
[[nodiscard]] Result<NcclReport> parse_nccl_report(std::string_view text);

}  // namespace autopilot::host
