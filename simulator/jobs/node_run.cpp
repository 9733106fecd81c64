// SPDX-License-Identifier: Apache-2.0
#include "simulator/jobs/node_run.hpp"

#include <algorithm>
#include <cmath>

#include "simulator/jobs/names.hpp"

namespace autopilot::simulated_jobs {
namespace {

using enum jobs::Metric;

constexpr auto kSpan = static_cast<float>(kWindow);
constexpr float kBoost = 1.02F;               // of the clock of a GPU that does not compute
constexpr float kLag = kSpan / (kSpan + 60);  // of temperatures
constexpr double kWindowsOfDay = 86400 / kWindow;
constexpr double kErrors = 0.045;  // of all GPUs ever show corrected errors, nearly always in bursts

float share(float seconds) {
  return std::clamp(seconds / kSpan, 0.0F, 1.0F);
}

}  // namespace

NodeRun::NodeRun(const Scenario& scenario, int node, std::span<const float> silicon)
    : scenario_(scenario),
      node_(node),
      random_(Pcg::mixed(scenario.seed, static_cast<std::uint64_t>(node) + 1000)) {
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    Gpu& gpu = gpus_[i];
    gpu.clock = silicon[static_cast<std::size_t>(node) * kGpus + i];
    gpu.power = 1 + 0.02F * random_.noise();
    gpu.warmer_c = 1.5F * random_.noise();
    gpu.cpu = 1 + 0.05F * random_.noise();
    gpu.mem_bytes = 2e7F * random_.noise();
    gpu.has_ecc = random_.chance(kErrors);
  }
  for (const jobs::Metric metric : scenario.missing_columns)
    is_missing_[static_cast<std::size_t>(metric)] = true;
  daemons_ = 0.01F + 0.02F * static_cast<float>(random_.uniform());
  skew_ = random_.uniform(-1, 1) * scenario.clock_skew;
  if (scenario.rack_offset_c > 0 && node / scenario.nodes_of_leaf % 3 == 0)
    inlet_offset_ = static_cast<float>(scenario.rack_offset_c);
}

float NodeRun::count(float mean) {
  if (mean <= 0) return 0;
  if (mean < 20) return static_cast<float>(random_.poisson(static_cast<double>(mean)));
  return std::max(0.0F, std::round(mean * (1 + 0.25F * random_.noise())));
}

std::optional<jobs::WindowRecord> NodeRun::window(double from, const NodeEffects& effects, const Seats& seats,
                                                  std::span<const JobWindow> jobs) {
  if (effects.is_lost || random_.chance(scenario_.missing_windows)) return std::nullopt;
  jobs::WindowRecord out;
  out.time = scenario_.start + std::chrono::milliseconds(std::llround((from + kWindow + skew_) * 1000));
  out.length = std::chrono::seconds(static_cast<int>(kWindow));
  out.node = node_name(node_);
  inlet_ = 22 + inlet_offset_ + static_cast<float>(scenario_.diurnal * 100 * wave(from / 86400)) +
           0.1F * random_.noise();
  std::array<float, kGpus> bytes_s{};
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const Seat& seat = seats[i];
    const JobWindow* job = seat.job < 0 ? nullptr : &jobs[static_cast<std::size_t>(seat.job)];
    RankSplit parts;
    parts.idle = kSpan;
    int stage = 0;
    out.gpus.push_back(static_cast<int>(i));
    if (job != nullptr) {
      parts = split(*job, seat.rank, random_);
      const RankRun& run = job->job->ranks()[static_cast<std::size_t>(seat.rank)];
      stage = run.stage;
      bytes_s[i] = static_cast<float>(0.7 * kNicBytes) * job->transfer / kSpan;
      if (job->dead < kSpan && !(run.role == HangRole::is_gone && job->hang > 0)) {
        fill_process(out.processes.size(), effects.host, *job, run.role, gpus_[i].cpu);
        out.processes.push_back({job->job->plan().job, seat.rank});
      }
    }
    fill_gpu(i, effects, parts, job, stage);
  }
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const NicEffect& nic = effects.nics[i];
    const float carried = nic.is_rerouted      ? 0
                          : nic.carries_double ? bytes_s[i] + bytes_s[i ^ 1U]
                                               : bytes_s[i];
    fill_nic(i, nic, carried);
    out.nics.push_back(nic_name(static_cast<int>(i)));
  }
  begin_bursts();
  fill_host(effects.host, jobs, seats);
  add_background();
  take_columns(out, out.processes.size());
  if (scenario_.has_fast_power) add_fast(effects, seats, jobs, out);
  return out;
}

void NodeRun::fill_gpu(std::size_t gpu, const NodeEffects& effects, const RankSplit& split,
                       const JobWindow* job, int stage) {
  const GpuEffect& effect = effects.gpus[gpu];
  if (effect.is_lost) {
    for (const jobs::MetricInfo& known : jobs::kMetrics)
      if (known.table == jobs::Table::gpu) value(known.metric, gpu) = jobs::kMissing;
    return;
  }
  const bool is_serving = job != nullptr && job->serve > 0;
  const float busy = share(split.busy);
  const float spin = share(split.spin);
  const float sends = share(split.communication);
  const float clock = gpus_[gpu].clock * effect.clock;
  const float density = is_serving ? 0.12F : 0.5F - 0.02F * static_cast<float>(stage);
  value(gpu_util, gpu) = std::clamp(busy + spin + sends + 0.004F * random_.noise(), 0.0F, 1.0F);
  value(gpu_tensor, gpu) = std::clamp(density * busy * (1 + 0.01F * random_.noise()), 0.0F, 1.0F);
  value(gpu_dram, gpu) = std::clamp(
      ((is_serving ? 0.55F : 0.3F) * busy + 0.06F * sends + 0.01F * spin) * (1 + 0.015F * random_.noise()),
      0.0F, 1.0F);
  const auto idle_w = static_cast<float>(kIdleWatts);
  const float level = 0.35F + 0.65F * effect.clock * effect.clock;
  const float watts = idle_w + static_cast<float>(kBusyWatts - kIdleWatts) * level * busy +
                      static_cast<float>(kSpinWatts - kIdleWatts) * (spin + 1.1F * sends);
  fill_heat(gpu, effect, gpus_[gpu].power * watts * (1 + 0.01F * random_.noise()));
  const bool is_used = job != nullptr && job->dead < kSpan / 2;
  const float mean_clock = busy * clock + (1 - busy) * kBoost * effect.clock;
  value(gpu_sm_clock_mhz, gpu) =
      is_used ? std::round(kClockMhz * mean_clock * (1 + 0.001F * random_.noise())) : 345.0F;
  const float loaded = is_serving ? 70e9F : 58e9F + 2e9F * static_cast<float>(stage);
  const bool is_starting = job != nullptr && job->startup > kSpan / 2;
  value(gpu_mem_bytes, gpu) = !is_used ? 5e8F : (is_starting ? 0.3F : 1.0F) * loaded + gpus_[gpu].mem_bytes;
  value(gpu_throttle_power_cap, gpu) = std::clamp(0.25F * busy + 0.02F * random_.noise(), 0.0F, 1.0F);
  value(gpu_throttle_thermal, gpu) = effect.throttle_thermal;
  value(gpu_throttle_hw, gpu) = effect.throttle_hw;
  value(gpu_throttle_brake, gpu) = effect.throttle_brake;
  value(gpu_pcie_gen, gpu) = 5;
  value(gpu_pcie_width, gpu) = effect.pcie_width;
  value(gpu_pcie_replays, gpu) = count(effect.pcie_replays);
  const float work = split.work / kSpan;
  value(gpu_pcie_bytes_s, gpu) = std::max(0.0F, (1e8F + 2e9F * work) * (1 + 0.03F * random_.noise()));
  value(gpu_nvlink_bytes_s, gpu) = std::max(0.0F, 1.5e11F * work * (1 + 0.01F * random_.noise()));
  value(gpu_nvlink_errors, gpu) = count(effect.nvlink_errors);
  if (gpus_[gpu].has_ecc && gpus_[gpu].burst == 0 && random_.chance(2 / kWindowsOfDay))
    gpus_[gpu].burst = 1 + static_cast<int>(random_.below(180));
  value(gpu_ecc_corrected, gpu) = gpus_[gpu].burst > 0 ? static_cast<float>(random_.below(40)) : 0.0F;
  if (gpus_[gpu].burst > 0) --gpus_[gpu].burst;
  value(gpu_ecc_uncorrected, gpu) = 0;
}

void NodeRun::fill_heat(std::size_t gpu, const GpuEffect& effect, float power) {
  Gpu& state = gpus_[gpu];
  const float target = inlet_ + 8 + 0.055F * power + state.warmer_c + effect.heat_c;
  state.temp_c += kLag * (target - state.temp_c);
  value(gpu_power_w, gpu) = std::max(0.0F, power);
  value(gpu_temp_c, gpu) = std::round(state.temp_c * 4) / 4;
  value(gpu_mem_temp_c, gpu) = std::round(state.temp_c + 9 + 0.3F * random_.noise());
}

void NodeRun::fill_process(std::size_t row, const HostEffect& host, const JobWindow& job, HangRole role,
                           float factor) {
  const bool is_culprit = job.hang > 0 && role != HangRole::spins;
  const float hang_cpu = is_culprit ? 0.02F : 1.0F;
  const float seconds = job.train * (1 - 0.3F * host.psi_cpu) + 6 * job.compile + job.startup +
                        0.6F * job.checkpoint + 0.9F * (job.evaluate + job.serve) + 0.4F * job.load +
                        hang_cpu * job.hang;
  value(process_cpu, row) = std::max(0.0F, factor * seconds / kSpan * (1 + 0.02F * random_.noise()));
  const float sleeps = 0.1F * job.startup + 0.25F * job.checkpoint + 0.3F * job.load +
                       (is_culprit && role == HangRole::sleeps_on_disk ? job.hang : 0.0F);
  value(process_disk_sleep, row) = share(sleeps + 0.2F * host.psi_io * job.train);
  value(process_stopped, row) = is_culprit && role == HangRole::is_stopped ? share(job.hang) : 0.0F;
  const float bytes = 2e6F * job.train + 3e8F * job.startup + 1.2e9F * job.checkpoint + 5e7F * job.load;
  value(process_io_bytes_s, row) = std::max(0.0F, bytes / kSpan * (1 + 0.1F * random_.noise()));
  value(process_run_delay, row) = share(0.3F * host.psi_cpu * job.train);
}

void NodeRun::fill_nic(std::size_t nic, const NicEffect& effect, float bytes_s) {
  value(nic_tx_bytes_s, nic) = std::max(0.0F, bytes_s * (1 + 0.01F * random_.noise()) + 2e4F);
  value(nic_rx_bytes_s, nic) = std::max(0.0F, bytes_s * (1 + 0.01F * random_.noise()) + 2e4F);
  value(nic_up, nic) = effect.up;
  value(nic_rate_bytes_s, nic) = static_cast<float>(kNicBytes) * effect.rate;
  value(nic_link_downed, nic) = effect.downed;
  value(nic_errors, nic) = count(effect.errors);
  value(nic_retransmits, nic) = count(effect.retransmits);
  value(nic_cnp, nic) = count(effect.cnp + (bytes_s > 0 ? 3.0F : 0.0F));
  value(nic_pause, nic) = count(effect.pause);
}

}  // namespace autopilot::simulated_jobs
