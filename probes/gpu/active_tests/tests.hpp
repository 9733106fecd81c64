// SPDX-License-Identifier: Apache-2.0
// The tests, each of one GPU in its own session. An error is an error of the driver and does not invalidate
// earlier measurements; a wrong result is not an error. After a wrong result, the error is in
// Measurement::broken_by.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "probes/gpu/active_tests/measurement.hpp"

namespace autopilot::probes::gpu {

// Host to device, device to host, and both at once, through pinned memory.
[[nodiscard]] Result<Measurement> test_pcie(Session& session, const TestLimits& limits);
// Copy, scale, triad and daxpy of the GPU's own memory.
[[nodiscard]] Result<Measurement> test_hbm(Session& session, const TestLimits& limits);

// Matrix products in double precision and, if the GPU supports it, in bf16.
[[nodiscard]] Result<Measurement> test_gemm(Session& session, const TestLimits& limits);
// Repeatedly writes and reads as much memory as the session can allocate.
[[nodiscard]] Result<Measurement> test_memory(Session& session, const TestLimits& limits);
// The canary of silent data corruption on every multiprocessor.
[[nodiscard]] Result<Measurement> test_sdc(Session& session, const TestLimits& limits);
// Copies to and from every other usable GPU. Errc::unsupported: there is none.
[[nodiscard]] Result<Measurement> test_p2p(Session& session, const TestLimits& limits);

// Power of the GPU while it is idle, waits, and multiplies. Errc::unsupported: the power is unknown.
[[nodiscard]] Result<Measurement> test_power(Session& session, const TestLimits& limits);

struct GpuTest {
  std::string_view name;
  std::string_view title;
  bool is_default;
  bool alone;  // first on each GPU alone, so that the effect of shared resources shows when all run together
  Result<Measurement> (*run)(Session&, const TestLimits&);
};

// In the order of execution.
[[nodiscard]] std::span<const GpuTest> gpu_tests();

}  // namespace autopilot::probes::gpu
