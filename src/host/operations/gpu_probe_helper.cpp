// SPDX-License-Identifier: Apache-2.0
#include "host/operations/gpu_probe_helper.hpp"

#include <algorithm>
#include <iostream>
#include <iterator>
#include <optional>
#include <thread>
#include <unistd.h>
#include <utility>

#include "core/parse.hpp"
#include "host/gpu/probe_report.hpp"
#include "host/operations/child_line.hpp"
#include "host/operations/child_teller.hpp"
#include "host/operations/gpu_probe_words.hpp"
#include "host/operations/tested_gpus.hpp"
#include "host/process/child_runner.hpp"
#include "host/process/poll.hpp"

namespace autopilot::host {
namespace {

constexpr int kUsage = 64;
constexpr int kSomeWrong = 2;  // exit codes of the probe that leave a report
constexpr int kNotLooked = 3;
// Beyond every deadline that an operation may have.
constexpr Duration kForEver = std::chrono::hours{48};

struct Options {
  const GpuProbeTest* test = nullptr;
  std::vector<std::string> limits;  // arguments of the probe
  SimulatedMachine simulated;
  std::vector<Subject> wanted;
};

Status take(const std::string& name, const std::string& value, Options& options) {
  if (name == "--seconds" || name == "--memory-share")
    options.limits.insert(options.limits.end(), {name, value});
  else if (name == "--tree")
    options.simulated.tree = value;
  else if (name == "--library")
    options.simulated.library = value;
  else if (name == "--cuda-library")
    options.simulated.cuda_library = value;
  else
    return fail(Errc::malformed, name + ": unknown");
  return {};
}

Result<Options> parse_options(const std::vector<std::string>& arguments) {
  Options options;
  if (arguments.empty()) return fail(Errc::malformed, "expected the check that judges the test");
  options.test = find_gpu_probe_test(arguments.front());
  if (options.test == nullptr) return fail(Errc::malformed, arguments.front() + ": no test of the GPU probe");
  auto at = std::next(arguments.begin());
  for (; at != arguments.end() && at->starts_with("--"); at += 2) {
    if (std::next(at) == arguments.end()) return fail(Errc::malformed, *at + ": expected a value");
    TRY_STATUS(take(*at, *std::next(at), options));
  }
  for (; at != arguments.end(); ++at)
    options.wanted.push_back(TRY(parse_gpu_argument(*at)));
  return options;
}

std::string addresses_of(std::span<const GpuDevice> gpus) {
  std::string addresses;
  for (const GpuDevice& gpu : gpus)
    addresses += (addresses.empty() ? "" : ",") + gpu.subject.key;
  return addresses;
}

// What would show the probe other GPUs than the driver lists, or in another way than jobs see them.
bool is_of_cuda(const std::string& variable) {
  return variable.starts_with("CUDA_") || variable.starts_with("NVIDIA_VISIBLE_DEVICES=");
}

Result<Command> command_of(const Options& options, std::span<const GpuDevice> gpus) {
  Command command;
  command.program = TRY(gpu_probe_program());
  command.arguments = {"--tests", std::string(options.test->tests), "--gpus", addresses_of(gpus)};
  command.arguments.insert(command.arguments.end(), options.limits.begin(), options.limits.end());
  command.environment = own_environment();
  std::erase_if(command.environment, is_of_cuda);
  command.joins_group = true;
  const SimulatedMachine& simulated = options.simulated;
  if (simulated.tree.empty()) return command;
  command.arguments.insert(command.arguments.end(),
                           {"--library", simulated.cuda_library, "--nvml-library", simulated.library});
  command.environment.push_back("AUTOPILOT_SIM_CUDA=" + simulated.tree + "/cuda.yaml");
  command.environment.push_back("AUTOPILOT_SIM_MACHINE=" + simulated.tree);
  return command;
}

std::string last_line_of(const std::string& text) {
  const std::string_view words = trim(text);
  return to_printable(words.substr(words.rfind('\n') + 1), kMaxChildMessage);
}

Result<GpuProbeReport> run_probe(const Options& options, std::span<const GpuDevice> gpus) {
  const Command command = TRY(command_of(options, gpus));
  const std::jthread telling =
      begin_telling(std::string(options.test->tests) + " on " + count_text(gpus.size()));
  ChildRunner runner;
  const auto child = TRY(runner.run(command, mono_now() + kForEver, {.output_bytes = kMaxGpuProbeReport}));
  const bool has_report =
      child.end == ChildEnd::exited &&
      (child.status.code == 0 || child.status.code == kSomeWrong || child.status.code == kNotLooked);
  if (has_report) return parse_gpu_probe_report(trim(child.output));
  std::string why = "the GPU probe ended by " + to_string(child.status);
  if (const std::string words = last_line_of(child.errors); !words.empty()) why += ": " + words;
  return fail(Errc::unavailable, why);
}

int tell_in_use(const GpuProbeTest& test, const std::string& by) {
  tell(ChildProgress{0, "GPU in use by " + by});
  tell(gpu_probe_in_use(test, by));
  return kChildInUse;
}

bool has_wrong(const GpuProbeReport::Gpu& gpu) {
  return std::ranges::any_of(gpu.tests, [](const auto& test) { return !test.wrong.empty(); });
}

// Everything was measured; or something came out wrong, which no neighbour explains.
bool is_conclusive(const Result<GpuProbeReport>& report) {
  if (!report || !report->error.empty()) return false;
  return std::ranges::any_of(report->gpus, has_wrong) ||
         std::ranges::all_of(report->gpus, [](const auto& gpu) { return gpu.error.empty(); });
}

Result<int> test_gpus(const Options& options) {
  const OpenedHost opened = TRY(open_tested_machine(options.simulated));
  const auto gpus = TRY(look_at_gpus(opened, options.wanted));
  if (const auto user = TRY(user_of(gpus))) return tell_in_use(*options.test, *user);
  const auto report = run_probe(options, gpus);
  // Somebody's work that began meanwhile takes the memory and the time of the test.
  if (!is_conclusive(report))
    if (const auto after = look_at_gpus(opened, options.wanted)) {
      const auto user = user_of(*after).value_or(std::nullopt);
      if (user) return tell_in_use(*options.test, *user);
    }
  if (!report) return fail(report.error());
  const Observations found = TRY(gpu_probe_observations(*options.test, *report, gpus));
  tell(ChildProgress{1, std::string(options.test->tests) + " on " + count_text(gpus.size())});
  tell(found);
  return 0;
}

}  // namespace

Result<std::string> gpu_probe_program() {
  const std::string self = TRY(own_executable());
  std::string program = self.substr(0, self.rfind('/')) + "/autopilot-gpu-probe";
  if (::access(program.c_str(), X_OK) != 0)
    return fail(Errc::not_found, program + " is not there or may not be run: it belongs beside autopilot");
  return program;
}

int run_gpu_probe(const std::vector<std::string>& arguments) {
  const auto options = parse_options(arguments);
  if (!options) {
    std::cerr << "autopilot helper gpu_probe: " << options.error().what << "\n";
    return kUsage;
  }
  lead_group_of_test();
  const auto code = test_gpus(*options);
  if (code) return *code;
  std::cerr << code.error().what << "\n";
  return 1;
}

}  // namespace autopilot::host
