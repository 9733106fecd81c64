// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/observation.hpp"
#include "core/result.hpp"
#include "diagnostics/child/tested_gpus.hpp"

// What the helpers of active tests have in common that run a program of their own on idle GPUs. The next one
// says what is its own, as GpuTestHelper.
namespace autopilot::diagnostics {

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
