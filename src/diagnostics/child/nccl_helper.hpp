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

// Path of all_reduce_perf of nccl-tests, in PATH or in the folders of its packages. not_found: in none of
// them, with the remedy.
[[nodiscard]] Result<std::string> find_all_reduce_perf();

// The operation gpu.nccl_allreduce: `autopilot helper nccl_allreduce [--run WORD]... [--tree DIR --library
// FILE] [SUBJECT...]`. Runs all_reduce_perf in the process group of the helper on the named GPUs; on all GPUs
// if none is named. Does not run if a process uses one of the GPUs; a result without wrong sums is discarded
// if a process uses one of them afterwards. --run: the program and its own arguments in place of
// all_reduce_perf, by a path or a name in PATH; sizes, number of GPUs and the report's file follow, and
// CUDA_VISIBLE_DEVICES names the GPUs. Lines on standard output as in child_line.hpp; a reader that closes
// the pipe ends the helper and all its children. Exit code 0: measured; kChildInUse; 1: no result, the reason
// is on standard error; 64: usage. Waits for the program without a deadline of its own: the caller sets one.
[[nodiscard]] int run_nccl_allreduce(const std::vector<std::string>& arguments);

// The result of an all-reduce on one machine, as observations for the check gpu.nccl_allreduce. Pure.

// Number of wrong elements, of all sizes. Not set: not all elements were checked, and no wrong one was
// reported.
[[nodiscard]] std::optional<std::uint64_t> wrong_of(const host::NcclReport& report);

// Of the host: nccl_allreduce.outcome, busbw and algbw of the largest size (GB/s of 10^9 bytes), its bytes,
// and wrong, of all sizes. Of each GPU its rank and its model. unavailable: nothing was measured.
[[nodiscard]] Result<Observations> nccl_observations(const host::NcclReport& report,
                                                     std::span<const host::GpuDevice> gpus);
// Observations of a machine with one GPU: an all-reduce needs two.
[[nodiscard]] Observations nccl_of_one_gpu();
// The diagnostic did not run, or its result is discarded: `by` uses a GPU.
[[nodiscard]] Observations nccl_in_use(const std::string& by);

}  // namespace autopilot::diagnostics
