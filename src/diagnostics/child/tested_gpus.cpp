// SPDX-License-Identifier: Apache-2.0

#include "diagnostics/child/tested_gpus.hpp"

#include <algorithm>
#include <iostream>
#include <iterator>
#include <string>
#include <thread>

#include "diagnostics/child/child_line.hpp"
#include "host/gpu/readings.hpp"
#include "host/host.hpp"

namespace autopilot::diagnostics {

namespace {

constexpr double kMemoryOfNobody = 0.1;                 // of a GPU: more than a driver keeps for itself
constexpr Duration kDriver = std::chrono::seconds{20};  // for the list of GPU processes

std::string gpu_text(const Subject& gpu) {
  return gpu.index ? "GPU " + std::to_string(*gpu.index) + " (" + gpu.key + ")" : "GPU " + gpu.key;
}

bool is_true(const host::GpuDevice& gpu, std::string_view name) {
  const host::GpuReading* told = gpu.find(name);
  return told != nullptr && told->value == Value(true);
}

std::optional<double> number_of(const host::GpuDevice& gpu, std::string_view name) {
  const host::GpuReading* told = gpu.find(name);
  return told != nullptr && told->value ? as_number(*told->value) : std::nullopt;
}

// A driver does not list the processes of other containers, but their memory is in use.
bool has_unseen_user(const host::GpuDevice& gpu) {
  const auto used = number_of(gpu, host::reading::kMemoryUsed);
  const auto total = number_of(gpu, host::reading::kMemoryTotal);
  return used && total && *used > *total * kMemoryOfNobody;
}

}  // namespace

Result<host::OpenedHost> open_tested_machine(const SimulatedMachine& simulated) {
  host::OpenOptions open;
  if (simulated.tree.empty()) return host::open_system_host(open);
  open.nvml_library = simulated.library;
  return host::open_tree_host(simulated.tree, open);
}

Result<std::vector<host::GpuDevice>> look_at_gpus(const host::OpenedHost& opened,
                                                  std::span<const Subject> wanted) {
  const auto report = TRY(opened.host->nvidia_gpus.read({host::GpuGroup::identity, host::GpuGroup::processes},
                                                        opened.host->clock.now().mono + kDriver));
  return gpus_to_test(report, wanted);
}

Result<std::vector<host::GpuDevice>> gpus_to_test(const host::GpuReport& report,
                                                  std::span<const Subject> wanted) {
  if (report.state != host::DriverState::ok)
    return fail(Errc::unavailable,
                "the driver does not say which GPUs are in use: " + std::string(to_string(report.state)) +
                    (report.detail.empty() ? "" : ", " + report.detail));
  for (const Subject& gpu : wanted)
    if (std::ranges::find(report.gpus, gpu, &host::GpuDevice::subject) == report.gpus.end())
      return fail(Errc::not_found, to_string(gpu) + " is not a GPU that NVIDIA's driver lists");
  std::vector<host::GpuDevice> gpus;
  std::ranges::copy_if(report.gpus, std::back_inserter(gpus), [wanted](const host::GpuDevice& gpu) {
    return wanted.empty() || std::ranges::find(wanted, gpu.subject) != wanted.end();
  });
  if (gpus.empty()) return fail(Errc::unavailable, "NVIDIA's driver lists no GPU");
  for (const host::GpuDevice& gpu : gpus) {
    if (gpu.state != host::GpuState::ok)
      return fail(Errc::unavailable,
                  gpu_text(gpu.subject) + " does not answer: " + std::string(to_string(gpu.state)));
    // CUDA shows one instance in place of the GPU, and the driver lists processes by instance.
    if (is_true(gpu, host::reading::kMig))
      return fail(Errc::unavailable, gpu_text(gpu.subject) + " is divided into instances (MIG)");
  }
  return gpus;
}

Result<std::optional<std::string>> user_of(std::span<const host::GpuDevice> gpus) {
  for (const host::GpuDevice& gpu : gpus) {
    const host::GpuReading* told = gpu.find(host::reading::kProcesses);
    const auto count = told != nullptr && told->value ? as_number(*told->value) : std::nullopt;
    if (!count)
      return fail(Errc::unavailable, "the driver does not list the processes on " + gpu_text(gpu.subject) +
                                         (told == nullptr ? "" : ": " + host::reading_code_word(told->code)));
    if (*count == 0 && has_unseen_user(gpu))
      return "a process that is not visible on " + gpu_text(gpu.subject);
    if (*count == 0) continue;
    const host::GpuReading* pids = gpu.find(host::reading::kProcessPids);
    const std::string list = pids != nullptr && pids->value ? autopilot::to_string(*pids->value) : "";
    const std::string first = list.substr(0, list.find(' '));
    return (first.empty() ? "a process" : "process " + first) + " on " + gpu_text(gpu.subject);
  }
  return std::nullopt;
}

std::optional<std::string> user_who_stays(const host::OpenedHost& opened, std::span<const Subject> wanted,
                                          std::chrono::milliseconds pause) {
  constexpr int kLooks = 5;
  std::optional<std::string> user;
  for (int look = 0; look < kLooks; ++look) {
    if (look > 0) std::this_thread::sleep_for(pause);
    const auto gpus = look_at_gpus(opened, wanted);
    if (!gpus) return std::nullopt;
    user = user_of(*gpus).value_or(std::nullopt);
    if (!user) return std::nullopt;
  }
  return user;
}

std::string count_text(std::size_t gpus) {
  return std::to_string(gpus) + (gpus == 1 ? " GPU" : " GPUs");
}

Result<Subject> parse_gpu_argument(const std::string& text) {
  auto subject = parse_subject(text);
  if (!subject || subject->kind != SubjectKind::gpu)
    return fail(Errc::malformed, text + ": expected a GPU, as gpu/0000:3b:00.0");
  return *std::move(subject);
}

namespace {

constexpr int kTestUsage = 64;

Result<GpuTestOptions> parse_gpu_test_options(const std::vector<std::string>& arguments,
                                              const GpuTestHelper& helper) {
  GpuTestOptions options;
  auto at = arguments.begin();
  for (; at != arguments.end() && at->starts_with("--"); at += 2) {
    if (std::next(at) == arguments.end()) return fail(Errc::malformed, *at + ": expected a value");
    const std::string& value = *std::next(at);
    if (*at == "--tree")
      options.simulated.tree = value;
    else if (*at == "--library")
      options.simulated.library = value;
    else
      TRY_STATUS(helper.take(*at, value));
  }
  for (; at != arguments.end(); ++at)
    options.wanted.push_back(TRY(parse_gpu_argument(*at)));
  return options;
}

int tell_in_use(const GpuTestHelper& helper, const std::string& by) {
  tell(ChildProgress{0, "GPU in use by " + by});
  tell(helper.in_use(by));
  return kChildInUse;
}

Result<int> tell_end(const GpuTestEnd& end) {
  if (!end.found) return fail(end.found.error());
  tell(ChildProgress{1, end.said});
  tell(*end.found);
  return 0;
}

Result<int> test_gpus(const GpuTestOptions& options, const GpuTestHelper& helper) {
  const host::OpenedHost opened = TRY(open_tested_machine(options.simulated));
  const auto gpus = TRY(look_at_gpus(opened, options.wanted));
  if (helper.nothing_to_test)
    if (const auto instead = helper.nothing_to_test(gpus.size())) return tell_end(*instead);
  if (const auto user = TRY(user_of(gpus))) return tell_in_use(helper, *user);
  const GpuTestEnd end = helper.run(options, gpus);
  if (!end.is_conclusive)
    if (const auto user = user_who_stays(opened, options.wanted)) return tell_in_use(helper, *user);
  return tell_end(end);
}

}  // namespace

int refuse_arguments(std::string_view helper, const std::string& why) {
  std::cerr << "autopilot helper " << helper << ": " << why << "\n";
  return kTestUsage;
}

int run_gpu_test(const std::vector<std::string>& arguments, const GpuTestHelper& helper) {
  const auto options = parse_gpu_test_options(arguments, helper);
  if (!options) return refuse_arguments(helper.name, options.error().what);
  lead_group_of_test();
  const auto code = test_gpus(*options, helper);
  if (code) return *code;
  std::cerr << code.error().what << "\n";
  return 1;
}

}  // namespace autopilot::diagnostics
