// SPDX-License-Identifier: Apache-2.0
#include "collect/discovery/gpu_holders.hpp"

#include <string_view>

#include "core/parse.hpp"
#include "host/gpu/readings.hpp"

namespace autopilot::collect {
namespace {

constexpr std::string_view kCure =
    "; until it does, jobs are found by their environment only. Start: "
    "autopilot check gpu.driver";

bool is_absent(host::DriverState state) {
  return state == host::DriverState::library_missing || state == host::DriverState::driver_not_loaded;
}

void add_processes(const host::GpuDevice& gpu, GpuHolders& holders) {
  if (!gpu.subject.index) return;
  const int index = *gpu.subject.index;
  if (!gpu.subject.uuid.empty()) holders.index_of_uuid.emplace(gpu.subject.uuid, index);
  const host::GpuReading* listed = gpu.find(host::reading::kProcessPids);
  if (listed == nullptr) return;
  if (!listed->value) {
    holders.not_seen.push_back("The driver does not list the processes on GPU " + std::to_string(index) +
                               std::string(kCure));
    return;
  }
  const auto* pids = std::get_if<std::string>(&*listed->value);
  if (pids == nullptr) return;
  for (const std::string_view word : split_words(*pids))
    if (const auto pid = parse_number<std::int64_t>(word); pid && *pid > 0)
      holders.by_pid[*pid].insert(index);
}

}  // namespace

GpuHolders read_gpu_holders(const host::Gpus& gpus, MonoTime deadline) {
  GpuHolders holders;
  const auto report = gpus.read({host::GpuGroup::identity, host::GpuGroup::processes}, deadline);
  if (!report) {
    holders.not_seen.push_back("The GPUs cannot be read: " + report.error().what + std::string(kCure));
    return holders;
  }
  if (report->state != host::DriverState::ok) {
    if (!is_absent(report->state))
      holders.not_seen.push_back("The GPU driver does not answer (" + std::string(to_string(report->state)) +
                                 ")" + std::string(kCure));
    return holders;
  }
  for (const host::GpuDevice& gpu : report->gpus)
    add_processes(gpu, holders);
  return holders;
}

}  // namespace autopilot::collect
