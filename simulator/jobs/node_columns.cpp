// SPDX-License-Identifier: Apache-2.0
// The host's columns, harmless errors, and the record itself.
#include <algorithm>
#include <cmath>

#include "simulator/jobs/node_run.hpp"

namespace autopilot::simulated_jobs {
namespace {

using enum jobs::Metric;

constexpr auto kSpan = static_cast<float>(kWindow);
constexpr float kCores = 96;
constexpr double kBackground = 0.02;  // of all windows have one harmless error somewhere
constexpr double kWindowsOfDay = 86400 / kWindow;

}  // namespace

// About three times a day and node a program of the system runs for a few minutes, and once in two days a NIC
// repeats packets for some seconds. Neither slows a job.
void NodeRun::begin_bursts() {
  if (busy_ > 0) {
    --busy_;
  } else if (random_.chance(3 / kWindowsOfDay)) {
    busy_ = 3 + static_cast<int>(random_.below(25));
    busy_cpu_ = static_cast<float>(random_.uniform(0.05, 0.35));
  }
  if (repeats_ > 0) {
    --repeats_;
    value(nic_retransmits, repeating_) += count(60);
  } else if (random_.chance(0.5 / kWindowsOfDay)) {
    repeats_ = 1 + static_cast<int>(random_.below(6));
    repeating_ = random_.below(kGpus);
  }
}

void NodeRun::fill_host(const HostEffect& host, std::span<const JobWindow> jobs, const Seats& seats) {
  float cores = 2;
  float reads = 1e6F;
  float writes = 2e6F;
  float saves = 0;
  const float burst = busy_ > 0 ? busy_cpu_ : 0;
  for (const Seat& seat : seats) {
    if (seat.job < 0) continue;
    const JobWindow& job = jobs[static_cast<std::size_t>(seat.job)];
    const float lives = kSpan - job.dead;
    cores += (1.6F * lives + 6 * job.compile) / kSpan;
    reads += (2e7F * job.train + 3e8F * job.startup + 3e8F * job.load) / kSpan;
    writes += 1.2e9F * job.checkpoint / kSpan;
    saves = std::max(saves, (job.checkpoint + job.load) / kSpan);
  }
  const auto noisy = [&](float mean) { return mean * (1 + 0.05F * random_.noise()); };
  value(host_cpu, 0) = std::clamp(noisy(cores / kCores + daemons_ + burst + host.cpu), 0.0F, 1.0F);
  value(host_run_queue, 0) = std::max(0.0F, noisy(cores / kCores + daemons_ + 3 * burst + host.run_queue));
  value(host_psi_cpu, 0) = std::clamp(noisy(0.01F + 0.2F * burst + host.psi_cpu), 0.0F, 1.0F);
  value(host_psi_io, 0) = std::clamp(noisy(0.01F + host.psi_io + 0.3F * saves), 0.0F, 1.0F);
  value(host_psi_memory, 0) = std::clamp(noisy(0.001F + host.psi_memory), 0.0F, 1.0F);
  value(host_storage_read_bytes_s, 0) = std::max(0.0F, noisy(reads * host.storage));
  value(host_storage_write_bytes_s, 0) = std::max(0.0F, noisy(writes * host.storage));
  value(host_inlet_c, 0) = std::round(inlet_ * 2) / 2;
}

void NodeRun::add_background() {
  if (!random_.chance(kBackground)) return;
  constexpr std::array kHarmless{gpu_pcie_replays, gpu_nvlink_errors, nic_retransmits, nic_errors};
  const jobs::Metric metric = kHarmless[random_.below(kHarmless.size())];
  value(metric, random_.below(kGpus)) += 1;
}

void NodeRun::take_columns(jobs::WindowRecord& out, std::size_t processes) {
  const bool has_restarted = random_.chance(scenario_.exporter_restarts / kWindowsOfDay);
  out.columns.reserve(kMetrics);
  for (const jobs::MetricInfo& known : jobs::kMetrics) {
    const auto index = static_cast<std::size_t>(known.metric);
    if (is_missing_[index]) continue;
    const std::size_t rows = known.table == jobs::Table::host      ? 1
                             : known.table == jobs::Table::process ? processes
                                                                   : static_cast<std::size_t>(kGpus);
    if (rows == 0) continue;
    const auto begin = values_[index].begin();
    jobs::Column column{known.metric, {begin, begin + static_cast<std::ptrdiff_t>(rows)}};
    if (has_restarted && known.kind == jobs::ValueKind::count)
      std::ranges::fill(column.values, jobs::kMissing);
    out.columns.push_back(std::move(column));
  }
}

// One series for the GPUs of each job on the node: the power of a lost GPU is not in it.
void NodeRun::add_fast(const NodeEffects& effects, const Seats& seats, std::span<const JobWindow> jobs,
                       jobs::WindowRecord& out) {
  for (std::size_t index = 0; index < jobs.size(); ++index) {
    jobs::FastPower fast;
    PowerLevels levels;
    float factor = 0;
    const auto idle = static_cast<float>(kIdleWatts);
    const auto spin = static_cast<float>(kSpinWatts);
    float own = 0;
    for (std::size_t i = 0; i < seats.size(); ++i) {
      if (seats[i].job != static_cast<int>(index) || effects.gpus[i].is_lost) continue;
      const RankRun& run = jobs[index].job->ranks()[static_cast<std::size_t>(seats[i].rank)];
      const float clock = effects.gpus[i].clock;
      const float busy = idle + static_cast<float>(kBusyWatts - kIdleWatts) * (0.35F + 0.65F * clock * clock);
      own += run.own();
      factor += gpus_[i].power;
      levels.busy += busy;
      levels.hang += run.role == HangRole::spins ? spin : idle;
      levels.serve += run.is_hung ? spin : idle + (busy - idle) * run.load;
      fast.gpus.push_back(static_cast<int>(i));
    }
    if (fast.gpus.empty()) continue;
    const auto count = static_cast<float>(fast.gpus.size());
    levels = {idle, spin, levels.busy / count, levels.hang / count, levels.serve / count};
    for (const float watts : power_by_second(jobs[index], own / count, levels))
      fast.power_w.push_back(std::max(0.0F, factor / count * watts * (1 + 0.01F * random_.noise())));
    out.fast.push_back(std::move(fast));
  }
}

}  // namespace autopilot::simulated_jobs
