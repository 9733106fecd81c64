// SPDX-License-Identifier: Apache-2.0
#include "host/operations/gpu_probe_helper.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <thread>
#include <utility>

#include "core/parse.hpp"
#include "host/gpu/probe_report.hpp"
#include "host/operations/child_line.hpp"
#include "host/operations/child_teller.hpp"
#include "host/operations/gpu_probe_words.hpp"
#include "host/operations/gpu_test_helper.hpp"
#include "host/process/child_runner.hpp"
#include "host/process/poll.hpp"

namespace autopilot::host {
namespace {

constexpr int kSomeWrong = 2;  // exit codes of the probe that leave a report
constexpr int kNotLooked = 3;
struct Options {
  const GpuProbeTest* test = nullptr;
  std::vector<std::string> limits;  // arguments of the probe
  std::string cuda_library;         // of a machine that does not exist
};

Status take(const std::string& name, const std::string& value, Options& options) {
  if (name == "--seconds" || name == "--memory-share" || name == "--kernels")
    options.limits.insert(options.limits.end(), {name, value});
  else if (name == "--cuda-library")
    options.cuda_library = value;
  else
    return fail(Errc::malformed, name + ": unknown");
  return {};
}

std::string addresses_of(std::span<const GpuDevice> gpus) {
  std::string addresses;
  for (const GpuDevice& gpu : gpus)
    addresses += (addresses.empty() ? "" : ",") + gpu.subject.key;
  return addresses;
}

bool chooses_gpus(const std::string& variable) {
  constexpr std::array<std::string_view, 5> kOnes{"CUDA_", "NVIDIA_VISIBLE_DEVICES=", "HIP_VISIBLE_DEVICES=",
                                                  "ROCR_VISIBLE_DEVICES=", "GPU_DEVICE_ORDINAL="};
  return std::ranges::any_of(kOnes, [&](std::string_view one) { return variable.starts_with(one); });
}

Result<Command> command_of(const Options& options, const SimulatedMachine& simulated,
                           std::span<const GpuDevice> gpus) {
  Command command;
  command.program = TRY(gpu_probe_program());
  command.arguments = {"--tests", std::string(options.test->tests), "--gpus", addresses_of(gpus)};
  command.arguments.insert(command.arguments.end(), options.limits.begin(), options.limits.end());
  command.environment = gpu_probe_environment();
  command.joins_group = true;
  if (simulated.tree.empty()) return command;
  command.arguments.insert(command.arguments.end(),
                           {"--library", options.cuda_library, "--nvml-library", simulated.library});
  command.environment.push_back("AUTOPILOT_SIM_CUDA=" + simulated.tree + "/cuda.yaml");
  command.environment.push_back("AUTOPILOT_SIM_MACHINE=" + simulated.tree);
  return command;
}

std::string last_line_of(const std::string& text) {
  const std::string_view words = trim(text);
  return to_printable(words.substr(words.rfind('\n') + 1), kMaxChildMessage);
}

Result<GpuProbeReport> run_probe(const Options& options, const SimulatedMachine& simulated,
                                 std::span<const GpuDevice> gpus) {
  const Command command = TRY(command_of(options, simulated, gpus));
  const std::jthread telling =
      begin_telling(std::string(options.test->tests) + " on " + count_text(gpus.size()));
  ChildRunner runner;
  const auto child =
      TRY(runner.run(command, mono_now() + kNoDeadlineOfTest, {.output_bytes = kMaxGpuProbeReport}));
  const bool has_report =
      child.end == ChildEnd::exited &&
      (child.status.code == 0 || child.status.code == kSomeWrong || child.status.code == kNotLooked);
  if (has_report) return parse_gpu_probe_report(trim(child.output));
  std::string why = "the GPU probe ended by " + to_string(child.status);
  if (const std::string words = last_line_of(child.errors); !words.empty()) why += ": " + words;
  return fail(Errc::unavailable, why);
}

bool has_wrong(const GpuProbeReport::Gpu& gpu) {
  return std::ranges::any_of(gpu.tests, [](const auto& test) { return !test.wrong.empty(); });
}

// Something came out wrong. That it was slow, or could not be measured, a neighbour explains.
bool is_conclusive(const Result<GpuProbeReport>& report) {
  return report && report->error.empty() && std::ranges::any_of(report->gpus, has_wrong);
}

GpuTestEnd test(const Options& options, const SimulatedMachine& simulated, std::span<const GpuDevice> gpus) {
  const auto report = run_probe(options, simulated, gpus);
  return {report ? gpu_probe_observations(*options.test, *report, gpus) : fail(report.error()),
          std::string(options.test->tests) + " on " + count_text(gpus.size()), is_conclusive(report)};
}

}  // namespace

Result<std::string> gpu_probe_program() {
  return program_beside_own("autopilot-gpu-probe");
}

std::vector<std::string> gpu_probe_environment() {
  std::vector<std::string> environment = own_environment();
  std::erase_if(environment, chooses_gpus);
  return environment;
}

int run_gpu_probe(const std::vector<std::string>& arguments) {
  GpuTestHelper helper;
  helper.name = "gpu_probe";
  if (arguments.empty()) return refuse_arguments(helper.name, "expected the check that judges the test");
  Options options;
  options.test = find_gpu_probe_test(arguments.front());
  if (options.test == nullptr)
    return refuse_arguments(helper.name, arguments.front() + ": no test of the GPU probe");
  helper.take = [&options](const std::string& name, const std::string& value) {
    return take(name, value, options);
  };
  helper.run = [&options](const GpuTestOptions& common, std::span<const GpuDevice> gpus) {
    return test(options, common.simulated, gpus);
  };
  helper.in_use = [&options](const std::string& by) { return gpu_probe_in_use(*options.test, by); };
  return run_gpu_test({std::next(arguments.begin()), arguments.end()}, helper);
}

}  // namespace autopilot::host
