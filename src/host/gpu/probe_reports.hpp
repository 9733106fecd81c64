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

// The report of autopilot-gpu-probe; docs/gpu-probe.md explains its members.
struct GpuProbeReport {
  struct Series {
    std::string name;              // "host_to_device"
    std::string peer;              // UUID of the other GPU in a copy between two GPUs; otherwise empty
    std::optional<double> median;  // missing: no sample
  };
  struct Wrong {
    std::string where;
    std::uint64_t count = 0;
    std::string detail;
  };
  struct Test {
    std::string name;       // "pcie"
    bool together = false;  // the other GPUs ran the same test at the time
    std::string skipped;    // why the GPU cannot run it; empty: it ran
    std::vector<Series> measured;
    std::vector<Wrong> wrong;
    std::vector<Wrong> disputed;                       // found by one kernel of the probe and not by another
    std::map<std::string, double, std::less<>> facts;  // "bytes_tested"
  };
  struct Sensors {
    std::string test;                                   // the test at the time; empty: no test
    std::map<std::string, double, std::less<>> values;  // "power_w"
    std::vector<std::string> throttle_reasons;
  };
  struct Gpu {
    std::string pci_address;  // in lower case
    std::string uuid;
    std::string name;
    std::string error;  // why its tests ended early; empty: they did not
    std::vector<Test> tests;
    std::vector<Sensors> sensors;

    [[nodiscard]] const Test* find(std::string_view test, bool together) const;
    // True if a test has a wrong result.
    [[nodiscard]] bool has_wrong() const;
  };

  std::string error;     // why no GPU was tested; empty: GPUs were tested
  bool stopped = false;  // stopped early by a signal
  std::vector<Gpu> gpus;

  [[nodiscard]] const Gpu* find(std::string_view pci_address) const;
};

inline constexpr std::size_t kMaxGpuProbeReport = std::size_t{16} << 20;  // bytes
inline constexpr std::size_t kMaxProbedGpus = 64;
inline constexpr std::size_t kMaxProbeWord = 256;  // bytes; longer texts are cut

// malformed: not a report of format 1; the error names the member. Pure; accepts untrusted text.
[[nodiscard]] Result<GpuProbeReport> parse_gpu_probe_report(std::string_view text);

// True if the program writes a report before this exit code (docs/gpu-probe.md).
[[nodiscard]] bool leaves_gpu_probe_report(int exit_code);
// Parses the report of a program with this exit code. Also malformed: the exit code reports a wrong result
// and the report has none.
[[nodiscard]] Result<GpuProbeReport> gpu_probe_report_of(std::string_view text, int exit_code);

// The report of all_reduce_perf of nccl-tests, written with `-J FILE`.
struct NcclReport {
  struct Row {
    std::uint64_t bytes = 0;
    double algorithm_bandwidth = 0;  // GB/s (10^9 bytes), the slower of in place and out of place
    double bus_bandwidth = 0;        // likewise; bandwidth of the links, independent of the number of GPUs
    // Wrong elements of both measurements. Missing: a measurement was not checked and no wrong element is
    // reported.
    std::optional<std::uint64_t> wrong;
  };
  std::vector<Row> rows;  // in the order of the report
};

inline constexpr std::size_t kMaxNcclReport = std::size_t{1} << 20;  // bytes
inline constexpr std::size_t kMaxNcclRows = 1024;

// malformed: not such a report; the error names the member. Pure; accepts untrusted text.
[[nodiscard]] Result<NcclReport> parse_nccl_report(std::string_view text);

}  // namespace autopilot::host
