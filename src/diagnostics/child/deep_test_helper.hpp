// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "diagnostics/child/deep_test_summary.hpp"
#include "host/process/child_runner.hpp"

namespace autopilot::diagnostics {

// What a deep test said, by how its program ended and what it wrote. gpus: how many it was given; fewer were
// tested: there is no telling about the rest. 0: not known.
[[nodiscard]] DeepTestSummary read_deep_test(const host::ChildReport& report, std::size_t gpus);

// 0: tested, and nothing failed; 1: something failed; 2: nothing can be said of the GPUs.
[[nodiscard]] int exit_code_of(const DeepTestSummary& summary);

// A deep test that is no program of its own: what follows `--` on the command line, and when it must end.
using OwnDeepTest = std::function<DeepTestSummary(const std::vector<std::string>& arguments, MonoTime until)>;

// `autopilot helper deep-test --output FILE [--deadline DURATION] [--gpus N] -- PROGRAM [ARGUMENT...]`: runs
// the program of a deep test, looked up in PATH, which prints what `dcgmi diag -j` does; leaves its summary
// in the file and what it printed on standard output and error. `... --tests own -- [OPTION...]`: `own` in
// the place of a program. Gives the exit code.
[[nodiscard]] int run_deep_test(const std::vector<std::string>& arguments, const OwnDeepTest& own);

}  // namespace autopilot::diagnostics
