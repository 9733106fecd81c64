// SPDX-License-Identifier: Apache-2.0
#include "collect/telemetry/process_table.hpp"

#include <algorithm>
#include <utility>

namespace autopilot::collect {
namespace {

using host::TaskIo;
using jobs::Metric;

// A byte that comes from storage through a system call is counted in both: the larger count has all.
float grown_io(const TaskIo& before, const TaskIo& now) {
  const auto larger = [](float one, float other) { return one > other ? one : other; };
  const auto growth = [](std::uint64_t from, std::uint64_t to) {
    return grown(std::optional(from), std::optional(to));
  };
  return larger(growth(before.call_read_bytes, now.call_read_bytes),
                growth(before.storage_read_bytes, now.storage_read_bytes)) +
         larger(growth(before.call_written_bytes, now.call_written_bytes),
                growth(before.storage_written_bytes, now.storage_written_bytes));
}

// Share of the time for which the main thread waited for a processor.
float delayed_share(std::optional<Duration> before, std::optional<Duration> now, float seconds) {
  if (!before || !now || *now < *before) return jobs::kMissing;
  return std::min(1.0F, static_cast<float>(to_seconds(*now - *before)) / seconds);
}

MonoTime start_of(std::uint64_t started_ticks) {
  return MonoTime(std::chrono::milliseconds(started_ticks * 1000 / host::kTicksPerSecond));
}

bool is_listed(const jobs::WindowRecord& window, const jobs::ProcessKey& key) {
  return std::ranges::any_of(window.processes, [&](const jobs::ProcessKey& listed) {
    return listed.rank == key.rank && listed.job == key.job;
  });
}

}  // namespace

ProcessTable::Row* ProcessTable::find(const std::string& job, const RankProcess& process) {
  const auto found = std::ranges::find_if(rows_, [&](const Row& row) {
    return row.pid == process.pid && row.key.rank == process.rank && row.key.job == job;
  });
  return found == rows_.end() ? nullptr : &*found;
}

std::optional<ProcessTable::Used> ProcessTable::read_used(std::int64_t pid) const {
  const auto task = host::read_task_state(files_, pid);
  if (!task) return std::nullopt;
  Used used{.started_ticks = task->started_ticks, .cpu_ticks = task->cpu_ticks, .io = {}};
  auto io = host::read_task_io(files_, pid);
  if (!io && io.error().code == Errc::denied && reader_) io = reader_->io(pid, task->started_ticks);
  if (io) used.io = *io;
  if (const auto delay = host::read_run_delay(files_, pid)) used.run_delay = *delay;
  used.is_io_denied = !io && io.error().code == Errc::denied;
  return used;
}

ProcessTable::Usage ProcessTable::read_usage(const RankProcess& process) const {
  Usage usage;
  if (auto used = read_used(process.pid)) usage[process.pid] = *used;
  for (const std::int64_t child : process.children) {
    if (usage.size() > kMaxChildren) break;
    if (auto used = read_used(child)) usage[child] = *used;
  }
  return usage;
}

void ProcessTable::sample(const SeenJobs& jobs, MonoTime now) {
  for (const SeenJob& job : jobs.jobs) {
    for (const RankProcess& process : job.processes) {
      const auto task = host::read_task_state(files_, process.pid);
      const bool is_same =
          task && (process.started_ticks == 0 || task->started_ticks == process.started_ticks);
      Row* row = find(job.record.job, process);
      if (!is_same || (row != nullptr && row->started_ticks != task->started_ticks)) {
        if (row != nullptr) rows_.erase(rows_.begin() + (row - rows_.data()));
        row = nullptr;
      }
      if (!is_same) continue;
      if (row == nullptr) {
        if (rows_.size() >= kMaxRows) continue;
        row = &rows_.emplace_back(Row{.key = {job.record.job, process.rank},
                                      .pid = process.pid,
                                      .started_ticks = task->started_ticks,
                                      .begin = now,
                                      .usage = read_usage(process),
                                      .disk_sleep = {},
                                      .stopped = {}});
      }
      row->disk_sleep.add(task->state == 'D' ? 1 : 0);
      row->stopped.add(task->state == 'T' || task->state == 't' ? 1 : 0);
    }
  }
}

ProcessTable::Rates ProcessTable::rates_of(const Row& row, const Usage& now, MonoTime time) {
  Rates rates;
  const auto seconds = static_cast<float>(to_seconds(time - row.begin));
  const auto main = now.find(row.pid);
  if (seconds <= 0 || main == now.end() || main->second.started_ticks != row.started_ticks) return rates;
  float ticks = 0;
  float bytes = 0;
  for (const auto& [pid, used] : now) {
    const auto before = row.usage.find(pid);
    const bool is_known = before != row.usage.end() && before->second.started_ticks == used.started_ticks;
    // What a process used before the window, and before it was found, is unknown.
    if (!is_known && start_of(used.started_ticks) < row.begin) continue;
    const Used from = is_known ? before->second : Used{.io = TaskIo{}};
    ticks += grown(std::optional(from.cpu_ticks), std::optional(used.cpu_ticks));
    if (from.io && used.io) bytes += grown_io(*from.io, *used.io);
  }
  rates.cpu = ticks / static_cast<float>(host::kTicksPerSecond) / seconds;
  if (main->second.io) rates.io_bytes_s = bytes / seconds;
  if (const auto before = row.usage.find(row.pid); before != row.usage.end())
    rates.run_delay = delayed_share(before->second.run_delay, main->second.run_delay, seconds);
  return rates;
}

void ProcessTable::close(const SeenJobs& jobs, MonoTime now, jobs::WindowRecord& window) {
  jobs::Column cpu{Metric::process_cpu, {}};
  jobs::Column disk_sleep{Metric::process_disk_sleep, {}};
  jobs::Column stopped{Metric::process_stopped, {}};
  jobs::Column io{Metric::process_io_bytes_s, {}};
  jobs::Column run_delay{Metric::process_run_delay, {}};
  std::vector<Row> next;
  denied_io_ = 0;
  for (const SeenJob& job : jobs.jobs) {
    for (const RankProcess& process : job.processes) {
      Row* row = find(job.record.job, process);
      if (row == nullptr || is_listed(window, row->key)) continue;
      Usage usage = read_usage(process);
      const auto main = usage.find(process.pid);
      if (main == usage.end() || main->second.started_ticks != row->started_ticks) continue;
      if (main->second.is_io_denied) ++denied_io_;
      const Rates rates = rates_of(*row, usage, now);
      window.processes.push_back(row->key);
      cpu.values.push_back(rates.cpu);
      disk_sleep.values.push_back(row->disk_sleep.value());
      stopped.values.push_back(row->stopped.value());
      io.values.push_back(rates.io_bytes_s);
      run_delay.values.push_back(rates.run_delay);
      next.push_back(Row{.key = row->key,
                         .pid = row->pid,
                         .started_ticks = row->started_ticks,
                         .begin = now,
                         .usage = std::move(usage),
                         .disk_sleep = {},
                         .stopped = {}});
    }
  }
  rows_ = std::move(next);
  if (window.processes.empty()) return;
  for (jobs::Column* column : {&cpu, &disk_sleep, &stopped, &io, &run_delay})
    window.columns.push_back(std::move(*column));
}

}  // namespace autopilot::collect
