// SPDX-License-Identifier: Apache-2.0
#include "jobs/hang_watch.hpp"

#include <algorithm>
#include <cmath>

#include "jobs/detectors/series.hpp"

namespace autopilot::jobs {
namespace {

// A share of a window from which a state of a process is its state.
constexpr float kMostOfWindow = 0.5F;
// A shorter gap is learned whatever the job did in it.
constexpr double kShortGap = 30;
// Of the job's own processor time: threads that only watch and send heartbeats take 1 to 3 % of a core.
constexpr float kSleepingRatio = 0.1F;
// Cores. A job that takes less while it runs does not show in its processor time whether it waits.
constexpr double kUsedProcessor = 0.2;
// Bytes/s: log lines and heartbeats move less, a checkpoint or a data set more.
constexpr float kQuietBytes = 1e5F;

HangEventKind kind_of(const Event& event) {
  if (event.key.starts_with("xid_")) return HangEventKind::xid;
  if (event.key == "link_down") return HangEventKind::link_down;
  if (event.key == "node_lost") return HangEventKind::node_lost;
  return HangEventKind::failed_check;
}

HangEvent to_hang_event(const Event& event, const std::string& node) {
  HangEvent hang{.time = event.time,
                 .kind = kind_of(event),
                 .node = node,
                 .gpu = {},
                 .nic = event.entity.nic,
                 .family = event.family,
                 .text = event.text,
                 .is_hardware = event.event_class <= EventClass::degraded};
  if (event.entity.kind == EntityKind::gpu) hang.gpu = event.entity.gpu;
  return hang;
}

bool makes_progress(const JobContext& job, WallTime now) {
  const auto last = job.progress.last_advance();
  return last && now - *last <= std::chrono::seconds(30);
}

PowerLevels levels_of(const NodeRecord& node, const PowerLevels& learned) {
  if (!node.idle_w || !node.busy_w) return learned;
  return {static_cast<float>(*node.idle_w), node.spin_w ? static_cast<float>(*node.spin_w) : kMissing,
          static_cast<float>(*node.busy_w)};
}

}  // namespace

std::optional<bool> HangWatch::is_computing() const {
  if (!quiet_share_) return std::nullopt;
  return *quiet_share_ < 0.5;
}

void HangWatch::Traffic::add(float value) {
  ++expected;
  if (std::isnan(value)) return;
  ++known;
  sum += static_cast<double>(value);
}

std::optional<double> HangWatch::Traffic::total() const {
  if (known == 0 || known * 2 < expected) return std::nullopt;
  return sum * static_cast<double>(expected) / static_cast<double>(known);
}

void HangWatch::start() {
  stall_.restart();
  collectives_.restart();
  counted_.reset();
  activities_.clear();
  awake_.clear();
  quiet_share_.reset();
}

bool HangWatch::add(const CollectivesRecord& record) {
  collectives_.add(record);
  const auto advanced = collectives_.status(record.time).last_advance;
  const bool has_grown = advanced && (!counted_ || *advanced > *counted_);
  if (has_grown) counted_ = advanced;
  return has_grown;
}

void HangWatch::add(const Gap& gap) {
  const bool is_explained =
      gap.phase == Phase::train && status().is_gap_explained && gap.seconds >= kShortGap;
  if (status().state != StallState::confirmed && !is_explained)
    gaps_[static_cast<std::size_t>(gap.phase)].add(gap.seconds);
}

double HangWatch::probability(double age_s) const {
  return gaps_[static_cast<std::size_t>(Phase::train)].probability(age_s);
}

void HangWatch::read_gpus(const JobContext& job, WallTime now) {
  const std::optional<double> running = running_power_.median();
  const PowerLevels learned = running ? levels_from_history(static_cast<float>(*running)) : PowerLevels{};
  activities_.assign(job.members.members().size(), GpuActivity::unknown);
  std::vector<GpuActivity> gpus;
  std::vector<float> powers;
  for (std::size_t at = 0; at < activities_.size(); ++at) {
    const Member& member = job.members.members()[at];
    if (member.gpu < 0) continue;
    const FleetNode& node = job.fleet.node(member.node);
    if (const auto row = node.telemetry.gpu_row(member.gpu)) {
      const auto latest = [&](Metric metric) { return node.telemetry.latest(metric, *row, now); };
      const GpuSigns signs{latest(Metric::gpu_power_w), latest(Metric::gpu_util), latest(Metric::gpu_tensor),
                           latest(Metric::gpu_dram)};
      activities_[at] = classify(signs, levels_of(node.record, learned));
      powers.push_back(signs.power_w);
    }
    gpus.push_back(activities_[at]);
  }
  quiet_share_ = quiet_share(gpus);
  if (!makes_progress(job, now)) return;
  if (const auto power = series_median(powers)) running_power_.add(static_cast<float>(*power));
}

void HangWatch::read_traffic(const JobContext& job, WallTime now, StallSigns& signs) const {
  Traffic fabric, storage;
  for (const std::uint32_t number : job.members.nodes()) {
    const FleetNode& node = job.fleet.node(number);
    if (node.jobs.size() > 1) continue;
    const NodeTelemetry& telemetry = node.telemetry;
    for (std::size_t nic = 0; nic < telemetry.nics().size(); ++nic) {
      fabric.add(telemetry.latest(Metric::nic_tx_bytes_s, nic, now));
      fabric.add(telemetry.latest(Metric::nic_rx_bytes_s, nic, now));
    }
    storage.add(telemetry.latest(Metric::host_storage_read_bytes_s, 0, now));
    storage.add(telemetry.latest(Metric::host_storage_write_bytes_s, 0, now));
  }
  for (const Member& member : job.members.members()) {
    const NodeTelemetry& telemetry = job.fleet.node(member.node).telemetry;
    if (const auto row = telemetry.gpu_row(member.gpu))
      fabric.add(telemetry.latest(Metric::gpu_nvlink_bytes_s, *row, now));
  }
  signs.fabric_bytes_s = fabric.total();
  signs.storage_bytes_s = storage.total();
}

void HangWatch::read_processes(const JobContext& job, WallTime now, StallSigns& signs) {
  const std::optional<double> usual = running_cpu_.median();
  awake_.assign(job.members.members().size(), std::nullopt);
  int known = 0, stopped = 0, asleep = 0;
  Traffic bytes;
  std::vector<float> cores;
  for (std::size_t at = 0; at < awake_.size(); ++at) {
    const Member& member = job.members.members()[at];
    const NodeTelemetry& telemetry = job.fleet.node(member.node).telemetry;
    const auto row = telemetry.process_row(job.members.job(), member.rank);
    const auto latest = [&](Metric metric) { return row ? telemetry.latest(metric, *row, now) : kMissing; };
    const float io = latest(Metric::process_io_bytes_s);
    bytes.add(io);
    cores.push_back(latest(Metric::process_cpu));
    if (usual && *usual >= kUsedProcessor && !std::isnan(cores.back()))
      awake_[at] = cores.back() > kSleepingRatio * static_cast<float>(*usual) || io > kQuietBytes;
    const float is_stopped = latest(Metric::process_stopped);
    const float sleeps = latest(Metric::process_disk_sleep);
    if (std::isnan(is_stopped) && std::isnan(sleeps)) continue;
    ++known;
    if (is_stopped > kMostOfWindow) ++stopped;
    if (sleeps > kMostOfWindow) ++asleep;
  }
  signs.process_bytes_s = bytes.total();
  judge_work(job, signs);
  if (known > 0) {
    signs.ranks_stopped = stopped;
    signs.ranks_in_disk_sleep = asleep;
  }
  if (!makes_progress(job, now)) return;
  if (const auto median = series_median(cores)) running_cpu_.add(static_cast<float>(*median));
}

void HangWatch::judge_work(const JobContext& job, StallSigns& signs) const {
  int known = 0, asleep = 0, working = 0;
  for (std::size_t at = 0; at < awake_.size(); ++at) {
    if (!awake_[at]) continue;
    ++known;
    if (!*awake_[at]) ++asleep;
    const bool has_gpu = job.members.members()[at].gpu >= 0;
    if (*awake_[at] && (!has_gpu || activities_[at] == GpuActivity::idle)) ++working;
  }
  if (known == 0 || static_cast<std::size_t>(known) * 2 < awake_.size()) return;
  signs.ranks = known;
  signs.asleep_share = static_cast<double>(asleep) / known;
  signs.working_share = static_cast<double>(working) / known;
}

// Most GPUs run a kernel that computes nothing, and no process works beside an idle GPU: no rank saves,
// compiles, evaluates or prepares data for the others.
bool HangWatch::is_only_waiting(const StallSigns& signs) const {
  const auto spinning = static_cast<std::size_t>(std::ranges::count(activities_, GpuActivity::spinning));
  return spinning * 2 > activities_.size() && signs.working_share && *signs.working_share <= 0;
}

void HangWatch::read_progress(const JobContext& job, WallTime now, StallSigns& signs) const {
  const auto last = job.progress.last_advance();
  signs.has_first_step = last.has_value();
  signs.since_start_s = to_seconds(now - job.progress.started());
  if (last) signs.progress_age_s = std::max(0.0, to_seconds(now - *last));
  const bool knows_long_gaps = job.progress.states_phases() || signs.storage_bytes_s ||
                               signs.process_bytes_s || is_only_waiting(signs);
  signs.soft_timeout_s = gaps_[static_cast<std::size_t>(Phase::train)].soft_timeout_s(knows_long_gaps);
  if (job.progress.states_phases()) signs.phase = job.progress.phase();
  if (!signs.phase || *signs.phase == Phase::train) return;
  const GapModel& model = gaps_[static_cast<std::size_t>(*signs.phase)];
  if (model.sketch().count() >= 3) signs.phase_timeout_s = model.soft_timeout_s();
}

void HangWatch::tick(const JobContext& job, WallTime now) {
  read_gpus(job, now);
  StallSigns signs;
  signs.now = now;
  signs.quiet_share = quiet_share_;
  signs.gpus = static_cast<int>(std::ranges::count_if(
      activities_, [](GpuActivity activity) { return activity != GpuActivity::unknown; }));
  read_traffic(job, now, signs);
  read_processes(job, now, signs);
  read_progress(job, now, signs);
  const CollectiveStatus counts = collectives_.status(now);
  signs.collectives_frozen = counts.frozen;
  if (counts.communicators > 0)
    signs.ranks_unresponsive = static_cast<int>(counts.dead.size() + counts.unresponsive.size());
  stall_.add(signs);
}

HangCulprit HangWatch::culprit(const JobContext& job, const std::vector<NetworkFinding>& network,
                               WallTime now) const {
  HangCase hang;
  hang.now = now;
  hang.last_progress =
      status().last_progress.value_or(job.progress.last_advance().value_or(job.progress.started()));
  hang.blame = collectives_.blame(now);
  for (std::size_t at = 0; at < job.members.members().size(); ++at) {
    const Member& member = job.members.members()[at];
    const FleetNode& node = job.fleet.node(member.node);
    RankSigns rank{.rank = member.rank, .node = node.record.node, .leaf = node.record.leaf};
    if (member.gpu >= 0) rank.gpu = member.gpu;
    if (at < activities_.size()) rank.activity = activities_[at];
    if (at < awake_.size()) rank.is_awake = awake_[at];
    if (const auto row = node.telemetry.process_row(job.members.job(), member.rank)) {
      rank.stopped = node.telemetry.latest(Metric::process_stopped, *row, now);
      rank.disk_sleep = node.telemetry.latest(Metric::process_disk_sleep, *row, now);
    }
    hang.ranks.push_back(std::move(rank));
  }
  const WallTime from = hang.last_progress - std::chrono::minutes(10);
  for (const std::uint32_t number : job.members.nodes()) {
    const std::string& name = job.fleet.node(number).record.node;
    for (const Event& event : job.events.of_node(name, from, now))
      hang.events.push_back(to_hang_event(event, name));
  }
  // Ports count errors for some minutes before they are accused: since the last progress.
  for (const NetworkFinding& finding : network)
    if (is_accusing(finding.fault) && finding.culprit.kind == EntityKind::nic)
      hang.events.push_back(
          {.time = hang.last_progress,
           .kind = HangEventKind::link_degraded,
           .node = finding.culprit.node,
           .gpu = {},
           .nic = finding.culprit.nic,
           .family = Family::nic,
           .text = finding.evidence.empty() ? std::string() : finding.evidence.front().text});
  return localise(hang);
}

}  // namespace autopilot::jobs
