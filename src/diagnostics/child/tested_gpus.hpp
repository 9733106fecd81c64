// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/subject.hpp"
#include "host/gpu/gpus.hpp"
#include "host/open_host.hpp"

// The GPUs that an active test is about, and who uses them.
namespace autopilot::diagnostics {

// A machine that does not exist, for the helper of a test.
struct SimulatedMachine {
  std::string tree;               // its folder; empty: this machine
  std::string library;            // NVML that answers for it
  std::string cuda_library = {};  // CUDA, likewise
};

[[nodiscard]] Result<host::OpenedHost> open_tested_machine(const SimulatedMachine& simulated);

// Asks the driver, for a few seconds at most. Errors as gpus_to_test.
[[nodiscard]] Result<std::vector<host::GpuDevice>> look_at_gpus(const host::OpenedHost& opened,
                                                                std::span<const Subject> wanted);

// The GPUs of that report that a test of `wanted` is about, in the driver's order; all of them where none is
// wanted. not_found: one that the driver does not list; unavailable: there is none, or one of them does not
// answer, or is divided. Pure.
[[nodiscard]] Result<std::vector<host::GpuDevice>> gpus_to_test(const host::GpuReport& report,
                                                                std::span<const Subject> wanted);

// Who uses one of these GPUs: "process 4242 on GPU 3 (0000:52:00.0)"; "somebody who cannot be seen on ..."
// where more of its memory is in use than a driver keeps for itself. Nothing: nobody. unavailable: the driver
// does not say. Pure.
[[nodiscard]] Result<std::optional<std::string>> user_of(std::span<const host::GpuDevice> gpus);

// Who came while a test of these GPUs ran, and is there at each of five looks: what the test itself started
// may be seen for a moment. Nothing: nobody, or nobody can say, which explains nothing.
[[nodiscard]] std::optional<std::string> user_who_stays(
    const host::OpenedHost& opened, std::span<const Subject> wanted,
    std::chrono::milliseconds pause = std::chrono::milliseconds{400});

// "1 GPU", "8 GPUs".
[[nodiscard]] std::string count_text(std::size_t gpus);

// What follows the options of a helper: "gpu/0000:3b:00.0". malformed: anything else.
[[nodiscard]] Result<Subject> parse_gpu_argument(const std::string& text);

}  // namespace autopilot::diagnostics
