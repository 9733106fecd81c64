// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"

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

}  // namespace autopilot::diagnostics
