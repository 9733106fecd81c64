// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/observation.hpp"
#include "core/result.hpp"
#include "core/subject.hpp"
#include "host/gpu/gpus.hpp"
#include "host/operations/deep_test_summary.hpp"

// What a test of DCGM on this machine says, as observations. Pure.
namespace autopilot::host {

struct DcgmTest {
  int level = 2;                   // of `dcgmi diag`
  std::vector<Subject> gpus;       // that it was to test, as the driver lists them
  std::vector<std::string> fatal;  // names of tests (host/gpu/dcgm/test_words.hpp)
};

// What the check gpu.dcgm judges (src/checks/gpu/dcgm.cpp lists the names): of each GPU of the test, and of
// the host for what names none of them. unavailable: why the test says nothing of any GPU.
[[nodiscard]] Result<Observations> dcgm_observations(const DeepTestSummary& summary, const DcgmTest& test);
// The test was not made, or counts for nothing: `by` uses a GPU.
[[nodiscard]] Observations dcgm_in_use(const DcgmTest& test, const std::string& by);

// The GPUs of that report that a test of `wanted` is about, in the driver's order; all of them where none is
// wanted. not_found: one that the driver does not list; unavailable: there is none, or one of them does not
// answer.
[[nodiscard]] Result<std::vector<GpuDevice>> gpus_to_test(const GpuReport& report,
                                                          std::span<const Subject> wanted);

// Who uses one of these GPUs: "process 4242 on GPU 3 (0000:52:00.0)". Nothing: nobody. unavailable: the
// driver does not say.
[[nodiscard]] Result<std::optional<std::string>> user_of(std::span<const GpuDevice> gpus);

}  // namespace autopilot::host
