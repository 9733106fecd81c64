// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/observation.hpp"
#include "core/result.hpp"
#include "core/subject.hpp"
#include "diagnostics/child/deep_test_helper.hpp"
#include "host/gpu/dcgm.hpp"

namespace autopilot::diagnostics {

// Paths of dcgmi, in the order of the search, if the configuration names no program.
inline constexpr std::array<const char*, 2> kDcgmiPlaces{"/usr/bin/dcgmi", "/usr/local/bin/dcgmi"};
// True if one of these files exists, executable or not.
[[nodiscard]] bool has_dcgmi();
// Message for a machine without dcgmi: what is missing, and how to install it.
[[nodiscard]] std::string without_dcgmi();

// The operation gpu.dcgm: `autopilot helper dcgm [--level N] [--fatal TEST]... [--excused ERRORS] [--run
// WORD]... [--tree DIR
// --library FILE] [SUBJECT...]`. Runs `dcgmi diag -j -r N` in the process group of the helper, with `-i` and
// their numbers if SUBJECT names GPUs. Does not run if a process uses one of the GPUs; a failure is discarded
// if a process uses one of them afterwards. --run: the program and each of its arguments in place of dcgmi,
// by a path or a name in PATH; `-i` and the numbers follow. --tree, --library: a simulated machine.
// Lines on standard output as in child_line.hpp; a reader that closes the pipe ends the helper and all its
// children. Exit code 0: the diagnostic ran; kChildInUse; 1: no result, the reason is on standard error; 64:
// usage. Waits for the program without a deadline of its own: the caller sets one.
[[nodiscard]] int run_dcgm(const std::vector<std::string>& arguments);

// The result of DCGM's diagnostic on this machine, as observations. Pure.

struct DcgmTest {
  int level = 2;                          // of `dcgmi diag`
  std::vector<Subject> gpus;              // the GPUs to test, as the driver lists them
  std::vector<std::string> fatal;         // names of tests (host/gpu/dcgm.hpp)
  std::vector<host::DcgmExcuse> excuses;  // errors that do not make a fatal test fatal
};

// Observations for the check gpu.dcgm (src/checks/gpu/dcgm.cpp lists the names): of each GPU of the test, and
// of the host for results without a GPU. unavailable: no GPU has a result, with the reason.
[[nodiscard]] Result<Observations> dcgm_observations(const DeepTestSummary& summary, const DcgmTest& test);
// The diagnostic did not run, or its result is discarded: `by` uses a GPU.
[[nodiscard]] Observations dcgm_in_use(const DcgmTest& test, const std::string& by);

}  // namespace autopilot::diagnostics
