// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/child/gpu_probe_helper.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <thread>
#include <utility>

#include "diagnostics/child/child_teller.hpp"
#include "diagnostics/child/gpu_probe_run.hpp"
#include "diagnostics/child/gpu_probe_words.hpp"
#include "diagnostics/child/gpu_test_helper.hpp"
#include "host/files/fd.hpp"

namespace autopilot::diagnostics {
namespace {

struct ProbeOptions {
  const GpuProbeTest* test = nullptr;
  std::vector<std::string> limits;  // arguments of the probe
  std::string cuda_library;         // of a machine that does not exist
};

Status take_probe_option(const std::string& name, const std::string& value, ProbeOptions& options) {
  if (name == "--seconds" || name == "--memory-share" || name == "--kernels")
    options.limits.insert(options.limits.end(), {name, value});
  else if (name == "--cuda-library")
    options.cuda_library = value;
  else
    return fail(Errc::malformed, name + ": unknown");
  return {};
}

Result<host::GpuProbeReport> run_probe(const ProbeOptions& options, const SimulatedMachine& simulated,
                                       std::span<const host::GpuDevice> gpus) {
  const std::jthread telling =
      begin_telling(std::string(options.test->tests) + " on " + count_text(gpus.size()));
  const SimulatedMachine machine{simulated.tree, simulated.library, options.cuda_library};
  return probe_gpus({options.test->tests, options.limits, machine, true}, gpus,
                    host::mono_now() + kNoDeadlineOfTest);
}

// Something came out wrong. That it was slow, or could not be measured, a neighbour explains.
bool is_conclusive(const Result<host::GpuProbeReport>& report) {
  return report && report->error.empty() &&
         std::ranges::any_of(report->gpus, &host::GpuProbeReport::Gpu::has_wrong);
}

GpuTestEnd test_with_probe(const ProbeOptions& options, const SimulatedMachine& simulated,
                           std::span<const host::GpuDevice> gpus) {
  const auto report = run_probe(options, simulated, gpus);
  return {report ? gpu_probe_observations(*options.test, *report, gpus) : fail(report.error()),
          std::string(options.test->tests) + " on " + count_text(gpus.size()), is_conclusive(report)};
}

}  // namespace

int run_gpu_probe(const std::vector<std::string>& arguments) {
  GpuTestHelper helper;
  helper.name = "gpu_probe";
  if (arguments.empty()) return refuse_arguments(helper.name, "expected the check that judges the test");
  ProbeOptions options;
  options.test = find_gpu_probe_test(arguments.front());
  if (options.test == nullptr)
    return refuse_arguments(helper.name, arguments.front() + ": no test of the GPU probe");
  helper.take = [&options](const std::string& name, const std::string& value) {
    return take_probe_option(name, value, options);
  };
  helper.run = [&options](const GpuTestOptions& common, std::span<const host::GpuDevice> gpus) {
    return test_with_probe(options, common.simulated, gpus);
  };
  helper.in_use = [&options](const std::string& by) { return gpu_probe_in_use(*options.test, by); };
  return run_gpu_test({std::next(arguments.begin()), arguments.end()}, helper);
}

}  // namespace autopilot::diagnostics
