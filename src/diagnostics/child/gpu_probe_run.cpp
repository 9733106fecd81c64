// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/child/gpu_probe_run.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/parse.hpp"
#include "diagnostics/child/child_line.hpp"
#include "host/files/fd.hpp"
#include "host/process/child_runner.hpp"

namespace autopilot::diagnostics {
namespace {

std::string addresses_of(std::span<const host::GpuDevice> gpus) {
  std::string addresses;
  for (const host::GpuDevice& gpu : gpus)
    addresses += (addresses.empty() ? "" : ",") + gpu.subject.key;
  return addresses;
}

bool chooses_gpus(const std::string& variable) {
  constexpr std::array<std::string_view, 5> kOnes{"CUDA_", "NVIDIA_VISIBLE_DEVICES=", "HIP_VISIBLE_DEVICES=",
                                                  "ROCR_VISIBLE_DEVICES=", "GPU_DEVICE_ORDINAL="};
  return std::ranges::any_of(kOnes, [&](std::string_view one) { return variable.starts_with(one); });
}

Result<host::Command> probe_command(const GpuProbeRun& run, std::span<const host::GpuDevice> gpus) {
  host::Command command;
  command.program = TRY(gpu_probe_program());
  command.arguments = {"--tests", std::string(run.tests), "--gpus", addresses_of(gpus)};
  command.arguments.insert(command.arguments.end(), run.limits.begin(), run.limits.end());
  command.environment = gpu_probe_environment();
  command.joins_group = run.joins_group;
  if (run.simulated.tree.empty()) return command;
  command.arguments.insert(command.arguments.end(), {"--library", run.simulated.cuda_library,
                                                     "--nvml-library", run.simulated.library});
  command.environment.push_back("AUTOPILOT_SIM_CUDA=" + run.simulated.tree + "/cuda.yaml");
  command.environment.push_back("AUTOPILOT_SIM_MACHINE=" + run.simulated.tree);
  return command;
}

std::string last_line_of(const std::string& text) {
  const std::string_view words = trim(text);
  return to_printable(words.substr(words.rfind('\n') + 1), kMaxChildMessage);
}

}  // namespace

Result<std::string> gpu_probe_program() {
  return host::program_beside_own("autopilot-gpu-probe");
}

std::vector<std::string> gpu_probe_environment() {
  std::vector<std::string> environment = host::own_environment();
  std::erase_if(environment, chooses_gpus);
  return environment;
}

Result<host::GpuProbeReport> probe_gpus(const GpuProbeRun& run, std::span<const host::GpuDevice> gpus,
                                        MonoTime until) {
  if (host::mono_now() >= until) return fail(Errc::unavailable, "no time was left for it");
  const host::Command command = TRY(probe_command(run, gpus));
  host::ChildRunner runner;
  const auto child = TRY(runner.run(command, until, {.output_bytes = host::kMaxGpuProbeReport}));
  if (child.end == host::ChildEnd::timed_out)
    return fail(Errc::unavailable, "the GPU probe did not end in time");
  if (child.end == host::ChildEnd::exited && host::leaves_gpu_probe_report(child.status.code))
    return host::gpu_probe_report_of(trim(child.output), child.status.code);
  std::string why = "the GPU probe ended by " + to_string(child.status);
  if (const std::string words = last_line_of(child.errors); !words.empty()) why += ": " + words;
  return fail(Errc::unavailable, why);
}

}  // namespace autopilot::diagnostics
