// SPDX-License-Identifier: Apache-2.0
#include "simulator/jobs/job_run.hpp"

#include <algorithm>
#include <cmath>

namespace autopilot::simulated_jobs {
namespace {

constexpr std::size_t kMaxima = 64;
constexpr std::uint64_t kJobStream = 1'000'000;
// Part of the communication that happens in each unit of a step; the rest at its end.
constexpr double kEarly = 0.25;
constexpr double kUnit = 3;       // seconds
constexpr double kSettled = 300;  // training before a hang or crash

bool is_stop(FaultClass fault_class) {
  const jobs::Effect effect = type_of(fault_class).effect;
  return (effect == jobs::Effect::hang || effect == jobs::Effect::crash) && !is_of_inference(fault_class);
}

}  // namespace

JobRun::JobRun(const Scenario& scenario, int index, std::span<const float> silicon)
    : scenario_(scenario),
      plan_(scenario.jobs[static_cast<std::size_t>(index)]),
      silicon_(silicon),
      random_(Pcg::mixed(scenario.seed, kJobStream + static_cast<std::uint64_t>(index))) {
  units_ = std::max(1, static_cast<int>(plan_.step / kUnit + 0.5));
  for (const PlannedFault& fault : scenario.faults)
    if (fault.job == index && is_stop(fault.fault_class)) stops_.push_back(fault);
  std::ranges::sort(stops_, {}, &PlannedFault::at);
  for (int i = 0; i < plan_.nodes; ++i)
    nodes_.push_back(plan_.first_node + i);
  place(nodes_);
  send_start(0);
}

void JobRun::place(std::span<const int> nodes) {
  ranks_.clear();
  const auto count = nodes.size();
  const auto stages = std::max<std::size_t>(1, plan_.stages.size());
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_half = plan_.shares_node && i == (plan_.is_second ? 0 : count - 1);
    const int from = is_half && plan_.is_second ? kGpus / 2 : 0;
    const int to = is_half && !plan_.is_second ? kGpus / 2 : kGpus;
    const std::size_t stage = std::min(stages - 1, i * stages / count);
    for (int gpu = from; gpu < to; ++gpu) {
      RankRun rank;
      rank.node = nodes[i];
      rank.gpu = gpu;
      rank.stage = static_cast<int>(stage);
      const float clock = silicon_[static_cast<std::size_t>(nodes[i] * kGpus + gpu)];
      rank.healthy = static_cast<float>(plan_.stages.empty() ? 1 : plan_.stages[stage]) / clock;
      ranks_.push_back(rank);
    }
  }
  slowed_.clear();
  draw_maxima();
}

// The slowest of thousands of ranks is sampled here, not in each step.
void JobRun::draw_maxima() {
  maxima_.assign(kMaxima, 0);
  const auto deviation = static_cast<float>(plan_.own_noise);
  for (float& most : maxima_)
    for (const RankRun& rank : ranks_)
      most = std::max(most, rank.healthy * (1 + deviation * random_.noise()));
}

std::optional<int> JobRun::rank_at(int node, int gpu) const {
  for (std::size_t i = 0; i < ranks_.size(); ++i)
    if (ranks_[i].node == node && ranks_[i].gpu == gpu) return static_cast<int>(i);
  return std::nullopt;
}

int JobRun::present(int planned_node) const {
  const int position = planned_node - plan_.first_node;
  return position >= 0 && position < plan_.nodes ? nodes_[static_cast<std::size_t>(position)] : planned_node;
}

bool JobRun::has_node(int node) const {
  return std::ranges::find(nodes_, node) != nodes_.end();
}

std::vector<Stop> JobRun::take_stops() {
  return std::exchange(begun_, {});
}

void JobRun::slow(int rank, float clock, float idle, float spin) {
  RankRun& run = ranks_[static_cast<std::size_t>(rank)];
  run.clock *= clock;
  run.idle += idle;
  run.spin += spin;
  slowed_.push_back(rank);
  for (RankRun& peer : ranks_)
    if (plan_.kind == jobs::JobKind::inference && peer.node == run.node)
      peer.replica_clock = std::min(peer.replica_clock, 1 / run.slowness());
}

void JobRun::hang_replica(int node) {
  for (RankRun& rank : ranks_)
    if (rank.node == node) rank.is_hung = true;
}

void JobRun::clear_faults() {
  slowed_.clear();
  for (RankRun& rank : ranks_) {
    rank.clock = rank.replica_clock = 1;
    rank.idle = rank.spin = 0;
    rank.is_hung = false;
  }
}

double JobRun::expected_step(const JobSurroundings& around) const {
  double slowest = 0;
  for (const float healthy : maxima_) {
    float most = healthy;
    for (const int rank : slowed_)
      most = std::max(most, ranks_[static_cast<std::size_t>(rank)].own());
    slowest += most / static_cast<double>(maxima_.size());
  }
  const double compute = plan_.step * slowest;
  return compute * (1 + around.load) + plan_.step * plan_.communication * around.communication;
}

WallTime JobRun::wall(double at) const {
  return scenario_.start + std::chrono::milliseconds(std::llround(at * 1000));
}

void JobRun::advance(double from, double to, const JobSurroundings& around, std::vector<int>& spares,
                     std::vector<jobs::Record>& out) {
  std::erase_if(slices_, [&](const Slice& slice) { return slice.end <= from; });
  double flap_wait = around.flap_wait;
  while (clock_ < to) {
    if (plan_.ending && !has_ended_ && clock_ >= plan_.ending->at) end_job(*plan_.ending);
    if (stop_ && clock_ >= stop_->restart) restart(spares);
    JobSurroundings now = around;
    now.flap_wait = flap_wait;
    const Slice slice = next_slice(now);
    if (slice.activity == Activity::train) flap_wait = 0;
    clock_ = slice.end;
    slices_.push_back(slice);
    end_of(slice, around);
  }
  if (plan_.progress.has_collectives && plan_.kind == jobs::JobKind::training)
    while (next_collectives_ < to) {
      if (next_collectives_ >= from) send_collectives(next_collectives_);
      next_collectives_ += 15;
    }
  while (plan_.progress.has_heartbeats && next_heartbeats_ < to) {
    if (next_heartbeats_ >= from) send_heartbeats(next_heartbeats_);
    next_heartbeats_ += 30;
  }
  if (plan_.kind == jobs::JobKind::inference) send_serving(from, to);
  flush(to, out);
}

Slice JobRun::begin(Activity activity, double lasting) {
  Slice slice;
  slice.activity = activity;
  slice.begin = clock_;
  slice.end = clock_ + lasting;
  return slice;
}

Slice JobRun::next_slice(const JobSurroundings& around) {
  if (has_ended_) return begin(Activity::dead, kWindow);
  if (stop_)
    return clock_ < stop_->exits ? begin(Activity::hang, stop_->exits - clock_)
                                 : begin(Activity::dead, stop_->restart - clock_);
  if (!next_.empty()) {
    const Activity activity = next_.back();
    next_.pop_back();
    const double startup = attempt_ == 1 ? plan_.startup : plan_.restart;
    return begin(activity, activity == Activity::compile ? plan_.compile : startup);
  }
  if (plan_.kind == jobs::JobKind::inference) {
    is_training_ = true;
    return begin(Activity::serve, kWindow);
  }
  if (!is_training_) {
    is_training_ = true;
    training_since_ = step_begin_ = clock_;
    send_phase(clock_, jobs::Phase::train, jobs::Edge::begin);
    next_checkpoint_ = clock_ + plan_.checkpoint.every;
    next_evaluation_ = clock_ + plan_.evaluation.every;
    next_stall_ = clock_ + plan_.data_stall.every;
  }
  if (unit_ == 0) {
    if (const auto slice = interrupt(plan_.checkpoint, next_checkpoint_, Activity::checkpoint)) return *slice;
    if (const auto slice = interrupt(plan_.evaluation, next_evaluation_, Activity::evaluate)) return *slice;
    if (const auto slice = interrupt(plan_.data_stall, next_stall_, Activity::load)) return *slice;
    if (pending_load_ > 0) return begin(Activity::load, std::exchange(pending_load_, 0.0));
    step_begin_ = std::max(step_begin_, training_since_);
  }
  return train(around);
}

std::optional<Slice> JobRun::interrupt(Recurring recurring, double& next, Activity activity) {
  if (recurring.every <= 0 || clock_ < next) return std::nullopt;
  next = clock_ + recurring.every * random_.uniform(0.95, 1.05);
  return begin(activity, recurring.lasting * random_.uniform(0.9, 1.15));
}

Slice JobRun::train(const JobSurroundings& around) {
  Slice slice = begin(Activity::train, 0);
  const double unit = plan_.step / units_;
  slice.work = unit / around.speed * (1 + 0.003 * random_.noise());
  float most = maxima_[random_.below(kMaxima)];
  for (const int slowed : slowed_) {
    const RankRun& rank = ranks_[static_cast<std::size_t>(slowed)];
    most = std::max(most, rank.own() * (1 + static_cast<float>(plan_.own_noise) * random_.noise()));
  }
  slice.slowest = slice.work * most;
  if (plan_.gc_pauses > 0 && random_.chance(plan_.gc_pauses / units_)) {
    slice.paused_rank = static_cast<int>(random_.below(static_cast<std::uint32_t>(ranks_.size())));
    slice.pause = random_.uniform(0.2, 2);
    const RankRun& rank = ranks_[static_cast<std::size_t>(slice.paused_rank)];
    slice.slowest = std::max(slice.slowest, slice.pause + slice.work * rank.own());
  }
  const bool is_last = unit_ + 1 == units_;
  const double share = units_ == 1 ? 1 : kEarly / units_ + (is_last ? 1 - kEarly : 0);
  slice.transfer = plan_.step * plan_.communication * share * (1 + 0.02 * random_.noise());
  slice.communication = slice.transfer * around.communication + around.flap_wait;
  slice.end = slice.begin + slice.slowest + slice.communication;
  if (const auto stop = next_stop(); stop && *stop < slice.end) {
    slice.end = std::max(slice.begin, *stop);
    begin_stop(slice.end);
  }
  return slice;
}

void JobRun::end_of(const Slice& slice, const JobSurroundings& around) {
  using enum jobs::Phase;
  const auto phase = [&](jobs::Phase which) {
    send_phase(slice.begin, which, jobs::Edge::begin);
    send_phase(slice.end, which, jobs::Edge::end);
  };
  switch (slice.activity) {
    case Activity::startup:
      return phase(startup);
    case Activity::compile:
      return phase(compile);
    case Activity::checkpoint:
      saved_step_ = step_;
      step_begin_ = slice.end;
      return phase(checkpoint);
    case Activity::evaluate:
      step_begin_ = slice.end;
      return phase(evaluate);
    case Activity::load:
      return;
    case Activity::train:
      break;
    default:
      return;
  }
  if (stop_) return;  // the unit did not end
  stage_count_ += 8;
  if (++unit_ < units_) return;
  unit_ = 0;
  ++step_;
  ++world_count_;
  send_step(slice.end, around.has_nan);
  pending_load_ = around.load * plan_.step;
}

std::optional<double> JobRun::next_stop() const {
  if (stop_ || stops_.empty()) return std::nullopt;
  return std::max(stops_.front().at, training_since_ + kSettled);
}

void JobRun::flush(double to, std::vector<jobs::Record>& out) {
  std::ranges::sort(
      due_, [](const Due& a, const Due& b) { return a.at != b.at ? a.at < b.at : a.order < b.order; });
  const auto later = std::ranges::find_if(due_, [&](const Due& due) { return due.at > to; });
  for (auto it = due_.begin(); it != later; ++it)
    out.push_back(std::move(it->record));
  due_.erase(due_.begin(), later);
}

void JobRun::send(double at, jobs::Record record) {
  due_.push_back({at, order_++, std::move(record)});
}

}  // namespace autopilot::simulated_jobs
