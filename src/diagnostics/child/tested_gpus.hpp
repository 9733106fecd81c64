// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/observation.hpp"
#include "core/result.hpp"
#include "core/subject.hpp"
#include "host/gpu/gpus.hpp"
#include "host/open_host.hpp"

namespace autopilot::diagnostics {

// The GPUs of a diagnostic, and the processes that use them.

// A simulated machine, for the helper of a diagnostic.
struct SimulatedMachine {
  std::string tree;               // its folder; empty: this machine
  std::string library;            // path of the simulated NVML
  std::string cuda_library = {};  // path of the simulated CUDA
};

[[nodiscard]] Result<host::OpenedHost> open_tested_machine(const SimulatedMachine& simulated);

// Reads the GPUs and their processes from the driver, within 20 seconds. Errors: those of gpus_to_test.
[[nodiscard]] Result<std::vector<host::GpuDevice>> look_at_gpus(const host::OpenedHost& opened,
                                                                std::span<const Subject> wanted);

// The GPUs of `report` that `wanted` names, in the driver's order; all GPUs if `wanted` is empty. not_found:
// the driver does not list a wanted GPU; unavailable: the driver lists no GPU, or a GPU does not answer or is
// divided (MIG). Pure.
[[nodiscard]] Result<std::vector<host::GpuDevice>> gpus_to_test(const host::GpuReport& report,
                                                                std::span<const Subject> wanted);

// A process that uses one of these GPUs: "process 4242 on GPU 3 (0000:52:00.0)"; "a process that is not
// visible on ..." if more memory is in use than a driver needs for itself. Not set: the GPUs are idle.
// unavailable: the driver does not list processes. Pure.
[[nodiscard]] Result<std::optional<std::string>> user_of(std::span<const host::GpuDevice> gpus);

// A process that uses one of these GPUs after a diagnostic, in each of five reads: processes of the
// diagnostic itself can remain visible for a moment. Not set: the GPUs are idle, or a read failed.
[[nodiscard]] std::optional<std::string> user_who_stays(
    const host::OpenedHost& opened, std::span<const Subject> wanted,
    std::chrono::milliseconds pause = std::chrono::milliseconds{400});

// "1 GPU", "8 GPUs".
[[nodiscard]] std::string count_text(std::size_t gpus);

// Parses a subject argument of a helper: "gpu/0000:3b:00.0". malformed: anything else.
[[nodiscard]] Result<Subject> parse_gpu_argument(const std::string& text);

// Common part of the helpers that run a separate program on idle GPUs. Each helper adds a GpuTestHelper.

struct GpuTestOptions {
  SimulatedMachine simulated;   // --tree DIR, --library FILE
  std::vector<Subject> wanted;  // the arguments after the options; empty: all GPUs
};

// Result of the program.
struct GpuTestEnd {
  Result<Observations> found;
  std::string said;            // last progress message, if `found` has a value
  bool is_conclusive = false;  // a workload that began during the diagnostic cannot be the cause
};

struct GpuTestHelper {
  std::string_view name;  // "dcgm"
  // Takes an option of this helper. malformed: unknown name or invalid value.
  std::function<Status(const std::string& name, const std::string& value)> take;
  // Runs the program. Not called if GPUs are in use, or if nothing_to_test returns a result.
  std::function<GpuTestEnd(const GpuTestOptions& options, std::span<const host::GpuDevice> gpus)> run;
  std::function<Observations(const std::string& by)> in_use;
  std::function<std::optional<GpuTestEnd>(std::size_t gpus)> nothing_to_test = {};
};

// Longer than every deadline of an operation: the process that starts the helper enforces that one.
inline constexpr Duration kNoDeadlineOfTest = std::chrono::hours{48};

// Runs the helper; lines on standard output as in child_line.hpp. Exit code 0: the diagnostic ran;
// kChildInUse: a process uses one of the GPUs before, or afterwards if the result is not conclusive; 1: no
// result, the reason is on standard error; 64: usage.
[[nodiscard]] int run_gpu_test(const std::vector<std::string>& arguments, const GpuTestHelper& helper);
// Prints why the arguments are invalid to standard error. Returns the exit code.
[[nodiscard]] int refuse_arguments(std::string_view helper, const std::string& why);

}  // namespace autopilot::diagnostics
