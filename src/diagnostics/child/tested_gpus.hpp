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

// The GPUs that an active test is about, and who uses them.

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

// What the helpers of active tests have in common that run a program of their own on idle GPUs. The next one
// says what is its own, as GpuTestHelper.

struct GpuTestOptions {
  SimulatedMachine simulated;   // --tree DIR, --library FILE
  std::vector<Subject> wanted;  // that follow the options; empty: all GPUs
};

// What came of the program.
struct GpuTestEnd {
  Result<Observations> found;
  std::string said;            // the last message of a test that found something
  bool is_conclusive = false;  // no work of somebody that began meanwhile explains it
};

struct GpuTestHelper {
  std::string_view name;  // "dcgm"
  // An option of its own. malformed: there is none of that name, or its value cannot be.
  std::function<Status(const std::string& name, const std::string& value)> take;
  // Not made at all where GPUs are in use, or nothing_to_test says what is told instead.
  std::function<GpuTestEnd(const GpuTestOptions& options, std::span<const host::GpuDevice> gpus)> run;
  std::function<Observations(const std::string& by)> in_use;
  std::function<std::optional<GpuTestEnd>(std::size_t gpus)> nothing_to_test = {};
};

// Beyond every deadline that an operation may have: that is of who started the helper.
inline constexpr Duration kNoDeadlineOfTest = std::chrono::hours{48};

// The helper itself; lines on standard output as in child_line.hpp. Exit code 0: tested; kChildInUse: a
// process is on one of the GPUs before, or afterwards where the end is not conclusive; 1: nothing can be said
// of the GPUs, why is on standard error; 64: usage.
[[nodiscard]] int run_gpu_test(const std::vector<std::string>& arguments, const GpuTestHelper& helper);
// Tells why the arguments cannot be used, and gives the exit code.
[[nodiscard]] int refuse_arguments(std::string_view helper, const std::string& why);

}  // namespace autopilot::diagnostics
