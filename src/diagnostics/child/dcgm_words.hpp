// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/observation.hpp"
#include "core/result.hpp"
#include "core/subject.hpp"
#include "diagnostics/child/deep_test_summary.hpp"
#include "host/gpu/dcgm.hpp"

// What a test of DCGM on this machine says, as observations. Pure.
namespace autopilot::diagnostics {

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
