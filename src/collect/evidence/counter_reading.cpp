// SPDX-License-Identifier: Apache-2.0
#include "collect/evidence/counter_reading.hpp"

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

#include "collect/telemetry/gpu_reader.hpp"
#include "core/parse.hpp"
#include "host/process/process_handle.hpp"

namespace autopilot::collect {
namespace {

constexpr std::size_t kMaxProcessFile = 4096;

HostReading read_host_now(const host::Host& host) {
  HostReading reading;
  reading.counters = host::read_host_counters(host.files, host::counted_disks(host.files));
  if (const auto runnable = host::read_runnable_threads(host.files)) reading.runnable_threads = *runnable;
  return reading;
}

ProcessReading read_process_now(const RankProcess& process) {
  ProcessReading reading{.rank = process.rank, .pid = process.pid, .task = {}, .io = {}, .waits_in = {}};
  const auto handle = host::ProcessHandle::open(process.pid, process.started_ticks);
  if (!handle) return reading;
  if (const auto stat = handle->read("stat", kMaxProcessFile))
    if (auto task = host::parse_task_state(*stat)) reading.task = *std::move(task);
  if (const auto text = handle->read("io", kMaxProcessFile))
    if (auto io = host::parse_task_io(*text)) reading.io = *io;
  if (const auto wchan = handle->read("wchan", kMaxProcessFile); wchan && trim(*wchan) != "0")
    reading.waits_in = to_printable(trim(*wchan));
  return reading;
}

std::vector<ProcessReading> read_processes_now(std::span<const RankProcess> processes) {
  std::vector<ProcessReading> readings;
  for (const RankProcess& process : processes.first(std::min(processes.size(), kMaxCountedProcesses)))
    readings.push_back(read_process_now(process));
  return readings;
}

// A driver that answers that it cannot be read is missing as well; a machine without a GPU is complete.
void state_driver(Result<host::GpuTelemetry>& gpus) {
  if (!gpus || gpus->state == host::DriverState::ok) return;
  if (gpus->state == host::DriverState::driver_not_loaded && gpus->detail.empty()) return;
  gpus = fail(Errc::unavailable, "the driver is " + std::string(host::to_string(gpus->state)) +
                                     (gpus->detail.empty() ? "" : " (" + gpus->detail + ")"));
}

}  // namespace

// Readers for one reading only: that of a part that hangs belongs to its thread.
CounterReading read_counters(const std::shared_ptr<const host::Host>& host,
                             const std::vector<RankProcess>& processes, DeadlineRunner& runner, Duration part,
                             const CounterReading* before) {
  CounterReading reading;
  reading.time = host->clock.now().wall;
  const auto read = [&]<class T>(Result<T> CounterReading::*member, std::function<Result<T>()> work) {
    const bool hung =
        before != nullptr && !(before->*member) && (before->*member).error().code == Errc::timed_out;
    if (hung)
      reading.*member = fail((before->*member).error());
    else
      reading.*member = runner.run_for<T>(std::move(work), host::mono_now() + part);
  };
  read(&CounterReading::gpus, std::function([host, part] {
    return GpuReader(host).read(host::TelemetryDetail::detailed, part * 7 / 8);
  }));
  read(&CounterReading::nics,
       std::function([host]() -> Result<DeviceReadings> { return DeviceReader(host).read(); }));
  read(&CounterReading::host,
       std::function([host]() -> Result<HostReading> { return read_host_now(*host); }));
  read(&CounterReading::processes, std::function([processes]() -> Result<std::vector<ProcessReading>> {
    return read_processes_now(processes);
  }));
  state_driver(reading.gpus);
  return reading;
}

std::vector<std::string> missing_parts(const BothReadings& readings) {
  std::vector<std::string> missing;
  const auto note = [&](const std::string& part, const auto& read) {
    std::string line = part + ": ";
    if (read) return;
    line += read.error().what;
    if (missing.empty() || missing.back() != line) missing.push_back(std::move(line));
  };
  const auto note_both = [&](const std::string& part, auto member) {
    for (const CounterReading& reading : readings)
      note(part, reading.*member);
  };
  note_both("GPUs", &CounterReading::gpus);
  note_both("NICs", &CounterReading::nics);
  note_both("host", &CounterReading::host);
  note_both("processes", &CounterReading::processes);
  return missing;
}

}  // namespace autopilot::collect
