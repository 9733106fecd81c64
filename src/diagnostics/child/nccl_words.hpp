// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/observation.hpp"
#include "core/result.hpp"
#include "host/gpu/gpus.hpp"
#include "host/gpu/probe_reports.hpp"

// What an all-reduce on one machine says, as observations for the check gpu.nccl_allreduce. Pure.
namespace autopilot::diagnostics {

// Elements of all sizes that were not the right ones. Nothing: not all were checked, and no wrong one is
// told.
[[nodiscard]] std::optional<std::uint64_t> wrong_of(const host::NcclReport& report);

// Of the host: nccl_allreduce.outcome, busbw and algbw of the largest size (GB/s of 10^9 bytes), its bytes,
// and wrong, of all sizes. Of each GPU its rank and its model. unavailable: nothing was measured.
[[nodiscard]] Result<Observations> nccl_observations(const host::NcclReport& report,
                                                     std::span<const host::GpuDevice> gpus);
// An all-reduce takes two.
[[nodiscard]] Observations nccl_of_one_gpu();
// The test was not made, or counts for nothing: `by` uses a GPU.
[[nodiscard]] Observations nccl_in_use(const std::string& by);

}  // namespace autopilot::diagnostics
