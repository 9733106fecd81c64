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

// Where dcgmi is looked for when nobody names it, in this order.
inline constexpr std::array<const char*, 2> kDcgmiPlaces{"/usr/bin/dcgmi", "/usr/local/bin/dcgmi"};
// It is in one of them, whether this process may run it or not.
[[nodiscard]] bool has_dcgmi();
// What is missing otherwise, and the cure.
[[nodiscard]] std::string without_dcgmi();

// The operation gpu.dcgm: `autopilot helper dcgm [--level N] [--fatal TEST]... [--excused ERRORS] [--run
// WORD]... [--tree DIR
// --library FILE] [SUBJECT...]`. Runs `dcgmi diag -j -r N` in the process group of the helper, with `-i` and
// their numbers where only some GPUs are to be tested, unless a process is on one of them before or, where
// something failed, afterwards. --run: the program and each of its arguments in place of dcgmi, by a path or
// a name in PATH; `-i` and the numbers follow. --tree, --library: of a machine that does not exist.
// Lines on standard output as in child_line.hpp; who reads none any more ends it and all it started. Exit
// code 0: tested; kChildInUse; 1: nothing can be said of the GPUs, why is on standard error; 64: usage. It
// waits as long as the program takes: a deadline is that of who started it.
[[nodiscard]] int run_dcgm(const std::vector<std::string>& arguments);

// What a test of DCGM on this machine says, as observations. Pure.

struct DcgmTest {
  int level = 2;                          // of `dcgmi diag`
  std::vector<Subject> gpus;              // that it was to test, as the driver lists them
  std::vector<std::string> fatal;         // names of tests (host/gpu/dcgm.hpp)
  std::vector<host::DcgmExcuse> excuses;  // likewise: errors by which none of them is fatal
};

// What the check gpu.dcgm judges (src/checks/gpu/dcgm.cpp lists the names): of each GPU of the test, and of
// the host for what names none of them. unavailable: why the test says nothing of any GPU.
[[nodiscard]] Result<Observations> dcgm_observations(const DeepTestSummary& summary, const DcgmTest& test);
// The test was not made, or counts for nothing: `by` uses a GPU.
[[nodiscard]] Observations dcgm_in_use(const DcgmTest& test, const std::string& by);

}  // namespace autopilot::diagnostics
