// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/observation.hpp"
#include "core/result.hpp"
#include "host/gpu/gpus.hpp"
#include "host/gpu/probe_reports.hpp"

namespace autopilot::diagnostics {

// all_reduce_perf of nccl-tests, in PATH or where its packages put it. not_found: in none of these places,
// and what would help.
[[nodiscard]] Result<std::string> find_all_reduce_perf();

// The operation gpu.nccl_allreduce: `autopilot helper nccl_allreduce [--run WORD]... [--tree DIR --library
// FILE] [SUBJECT...]`. Runs all_reduce_perf in the process group of the helper on the GPUs that are named, on
// all where none is, unless a process is on one of them before or, where nothing was measured, afterwards.
// --run: the program and its own arguments in place of all_reduce_perf, by a path or a name in PATH; sizes,
// number of GPUs and the report's file follow, and CUDA_VISIBLE_DEVICES names the GPUs. Lines on standard
// output as in child_line.hpp; who reads none any more ends it and all it started. Exit code 0: measured;
// kChildInUse; 1: nothing can be said of the GPUs, why is on standard error; 64: usage. It waits as long as
// the program takes: a deadline is that of who started it.
[[nodiscard]] int run_nccl_allreduce(const std::vector<std::string>& arguments);

// What an all-reduce on one machine says, as observations for the check gpu.nccl_allreduce. Pure.

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
