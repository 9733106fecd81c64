// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace autopilot::diagnostics {

// The operations of host/operations/gpu_probe_words.hpp: `autopilot helper gpu_probe CHECK [--seconds S]
// [--memory-share F] [--kernels LEVEL] [--tree DIR --library FILE --cuda-library FILE] [SUBJECT...]`. Runs
// autopilot-gpu-probe in the process group of the helper on the GPUs that are named, on all where none is,
// unless a process is on one of them before or, where something could not be measured, afterwards. --tree: a
// machine that does not exist, whose cuda.yaml the CUDA library reads. Lines on standard output as in
// child_line.hpp; who reads none any more ends it and all it started. Exit code 0: measured; kChildInUse; 1:
// nothing can be said of the GPUs, why is on standard error; 64: usage. It waits as long as the probe takes:
// a deadline is that of who started it.
[[nodiscard]] int run_gpu_probe(const std::vector<std::string>& arguments);

}  // namespace autopilot::diagnostics
