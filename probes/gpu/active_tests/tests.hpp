// SPDX-License-Identifier: Apache-2.0
// The tests, each of one GPU in its own session. An error is a driver's error and says nothing about what was
// measured before; a wrong result is none. Where there was one before it the error is Measurement::broken_by.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "probes/gpu/active_tests/measurement.hpp"

namespace autopilot::probes::gpu {

// Host to device, device to host and both at once, through pinned memory.
[[nodiscard]] Result<Measurement> test_pcie(Session& session, const TestLimits& limits);
// Copy, scale, triad and daxpy of the GPU's own memory.
[[nodiscard]] Result<Measurement> test_hbm(Session& session, const TestLimits& limits);

// Matrix products in double precision and, where the GPU can, of bf16.
[[nodiscard]] Result<Measurement> test_gemm(Session& session, const TestLimits& limits);
// Writes and reads as much memory as the session may take, again and again.
[[nodiscard]] Result<Measurement> test_memory(Session& session, const TestLimits& limits);
// The canary of silent data corruption on every multiprocessor.
[[nodiscard]] Result<Measurement> test_sdc(Session& session, const TestLimits& limits);
// Copies to and from every other GPU that may be used. Errc::unsupported: there is none.
[[nodiscard]] Result<Measurement> test_p2p(Session& session, const TestLimits& limits);

// What the GPU draws while it is idle, waits, and multiplies. Errc::unsupported: nobody tells.
[[nodiscard]] Result<Measurement> test_power(Session& session, const TestLimits& limits);

struct GpuTest {
  std::string_view name;
  std::string_view title;
  bool is_default;
  bool alone;  // first by each GPU alone, so that what they share shows when all do it
  Result<Measurement> (*run)(Session&, const TestLimits&);
};

// In the order in which they run.
[[nodiscard]] std::span<const GpuTest> gpu_tests();

}  // namespace autopilot::probes::gpu
