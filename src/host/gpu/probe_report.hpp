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
    std::string kernels;      // the level that was used: "sm_90a"; empty: none was loaded
    std::string error;        // what ended its tests early; empty: nothing did
    std::string last_kernel;  // that was launched before the error; empty: none was
    std::vector<Test> tests;
    std::vector<Sensors> sensors;

    [[nodiscard]] const Test* find(std::string_view test, bool together) const;
  };

  std::string error;     // why no GPU was looked at; empty: they were
  bool stopped = false;  // by a signal, before the end
  std::vector<Gpu> gpus;

  [[nodiscard]] const Gpu* find(std::string_view pci_address) const;
};

// A product by the instructions of compute capability 9.0. No GPU of ours has run it.
inline constexpr std::string_view kUnprovenKernel = "gemm_bf16_wgmma";
inline constexpr std::string_view kUnprovenKernels = "sm_90a";  // the level that has it, and
inline constexpr std::string_view kProvenKernels = "sm_90";     // the one in its place

// The tests of all GPUs that took the level of that kernel failed, of one at least in that kernel: it may be
// what is at fault, and not they.
[[nodiscard]] bool is_fault_of_kernel(const GpuProbeReport& report);

inline constexpr std::size_t kMaxGpuProbeReport = std::size_t{16} << 20;  // bytes
inline constexpr std::size_t kMaxProbedGpus = 64;
inline constexpr std::size_t kMaxProbeWord = 256;  // bytes; longer texts are cut

// malformed: what is no such report of format 1, names the member. Pure, and safe with what a stranger wrote.
[[nodiscard]] Result<GpuProbeReport> parse_gpu_probe_report(std::string_view text);

}  // namespace autopilot::host
