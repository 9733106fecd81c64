// SPDX-License-Identifier: Apache-2.0
// Hangs, crashes and the restart after them.
#include <algorithm>
#include <array>

#include "simulator/jobs/job_run.hpp"
#include "simulator/jobs/names.hpp"

namespace autopilot::simulated_jobs {
namespace {

constexpr double kOperator = 2400;  // without a watchdog, a person ends the job
constexpr double kTeardown = 45;
// Fatal codes, the most frequent ones first (Delta, arXiv 2503.11901), and codes of the program.
constexpr std::array kFatalXids{79, 119, 95, 48, 74, 94};
constexpr std::array kProgramXids{31, 13, 43};

HangRole role_of(FaultClass fault_class) {
  switch (fault_class) {
    case FaultClass::hang_lost_rank:
      return HangRole::is_idle;
    case FaultClass::hang_stopped_process:
      return HangRole::is_stopped;
    case FaultClass::hang_data_loader:
      return HangRole::sleeps_on_disk;
    case FaultClass::hang_mismatch:
    case FaultClass::hang_link_equal_counts:
      return HangRole::spins;
    default:
      return HangRole::is_gone;
  }
}

double time_to_exit(const Stop& stop, const JobPlan& plan, Pcg& random) {
  if (type_of(stop.fault.fault_class).effect == jobs::Effect::hang) return plan.watchdog.value_or(kOperator);
  return stop.fault.fault_class == FaultClass::node_loss ? 60 : random.uniform(10, 30);
}

std::string last_words(FaultClass fault_class) {
  switch (fault_class) {
    case FaultClass::xid:
      return "CUDA error: unspecified launch failure";
    case FaultClass::xid_application:
      return "CUDA error: an illegal memory access was encountered";
    case FaultClass::crash_oom:
      return "Killed";
    case FaultClass::node_loss:
      return "NCCL error: remote process exited or there was a network error";
    default:
      return "Watchdog caught collective operation timeout";
  }
}

}  // namespace

void JobRun::begin_stop(double at) {
  Stop stop;
  stop.fault = stops_.front();
  stops_.erase(stops_.begin());
  stop.fault.node = present(stop.fault.node);
  const bool is_program = type_of(stop.fault.fault_class).target == Target::program;
  if (is_program) {
    stop.rank = static_cast<int>(random_.below(static_cast<std::uint32_t>(ranks_.size())));
    stop.fault.node = ranks_[static_cast<std::size_t>(stop.rank)].node;
    stop.fault.gpu = ranks_[static_cast<std::size_t>(stop.rank)].gpu;
  } else {
    const auto rank = rank_at(stop.fault.node, stop.fault.gpu);
    if (!rank) return;  // its node was replaced
    stop.rank = *rank;
  }
  stop.onset = at;
  stop.exits = at + time_to_exit(stop, plan_, random_);
  stop.restart = stop.exits + kTeardown;
  stop_ = stop;
  begun_.push_back(stop);
  set_roles(true);
  send_exits(stop);
}

void JobRun::set_roles(bool is_stopped) {
  for (RankRun& rank : ranks_)
    rank.role = HangRole::spins;
  if (!is_stopped) return;
  const HangRole role = role_of(stop_->fault.fault_class);
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const bool is_on_lost_node =
        stop_->fault.fault_class == FaultClass::node_loss && ranks_[i].node == stop_->fault.node;
    if (static_cast<int>(i) == stop_->rank || is_on_lost_node) ranks_[i].role = role;
  }
}

void JobRun::send_exits(const Stop& stop) {
  const FaultClass fault_class = stop.fault.fault_class;
  const bool is_hang = type_of(fault_class).effect == jobs::Effect::hang;
  const std::string node = node_name(stop.fault.node);
  if (fault_class == FaultClass::xid || fault_class == FaultClass::xid_application) {
    const int code = fault_class == FaultClass::xid ? kFatalXids[random_.below(kFatalXids.size())]
                                                    : kProgramXids[random_.below(kProgramXids.size())];
    send(stop.onset + 0.2, jobs::XidRecord{wall(stop.onset + 0.2), node, stop.fault.gpu, code, {}});
  }
  const bool is_lost = fault_class == FaultClass::node_loss;
  if (is_lost) send(stop.onset + 40, jobs::NodeStateRecord{wall(stop.onset + 40), node, true});
  // A victim of the watchdog, or the culprit of a crash, leaves a text. A lost node leaves nothing.
  const int count = static_cast<int>(ranks_.size());
  const int speaker = is_hang || is_lost ? (stop.rank + kGpus) % count : stop.rank;
  const double words_at = is_hang ? stop.exits - 0.5 : stop.onset + 1;
  send(words_at, jobs::LogRecord{wall(words_at), plan_.job, speaker, last_words(fault_class)});
  for (int i = 0; i < count; ++i) {
    const RankRun& rank = ranks_[static_cast<std::size_t>(i)];
    if (is_lost && rank.node == stop.fault.node) continue;
    const bool is_culprit = i == stop.rank && !is_hang;
    const double at = is_culprit ? stop.onset + 1.5 : stop.exits + random_.uniform(0, 5);
    jobs::ExitRecord exit{wall(at), plan_.job, i, std::nullopt, std::nullopt, false};
    if (is_culprit && fault_class == FaultClass::crash_oom) {
      exit.signal = 9;
      exit.oom = true;
    } else if (is_culprit) {
      exit.code = 1;
    } else {
      exit.signal = rank.role == HangRole::is_stopped ? 9 : 6;
    }
    send(at, std::move(exit));
  }
}

void JobRun::restart(std::vector<int>& spares) {
  const Stop stop = *stop_;
  stop_.reset();
  const Target target = type_of(stop.fault.fault_class).target;
  if (stop.fault.replaces_node && target != Target::program && !spares.empty()) {
    std::ranges::replace(nodes_, stop.fault.node, spares.back());
    spares.pop_back();
  }
  if (stop.fault.fault_class == FaultClass::node_loss)
    send(clock_, jobs::NodeStateRecord{wall(clock_), node_name(stop.fault.node), false});
  step_ = saved_step_;
  world_count_ = stage_count_ = 0;
  unit_ = 0;
  pending_load_ = 0;
  is_training_ = false;
  place(nodes_);
  send_start(clock_);
}

// Ranks end in order, and nothing is wrong.
void JobRun::end_job(Ending ending) {
  has_ended_ = true;
  is_training_ = false;
  stop_.reset();
  stops_.clear();
  const bool is_preempted = ending.outcome == jobs::Outcome::preempted;
  for (int i = 0; i < static_cast<int>(ranks_.size()); ++i) {
    if (is_preempted) send(clock_, jobs::PodRecord{wall(clock_), plan_.job, i, jobs::PodReason::preempted});
    jobs::ExitRecord exit{wall(clock_ + 2), plan_.job, i, std::nullopt, std::nullopt, false};
    if (is_preempted)
      exit.signal = 15;
    else
      exit.code = 0;
    send(clock_ + 2, std::move(exit));
  }
  send(clock_ + 3, jobs::JobEndRecord{wall(clock_ + 3), plan_.job, ending.outcome});
}

void JobRun::send_start(double at) {
  ++attempt_;
  next_.clear();
  if (plan_.compile > 0) next_.push_back(Activity::compile);
  next_.push_back(Activity::startup);
  jobs::JobRecord record;
  record.time = wall(at);
  record.job = plan_.job;
  record.name = plan_.name;
  record.owner = "Job " + plan_.job;
  record.kind = plan_.kind;
  record.attempt = attempt_;
  record.spares = scenario_.spares;
  record.restart = std::chrono::milliseconds(static_cast<std::int64_t>(plan_.restart * 1000));
  if (plan_.watchdog)
    record.watchdog = std::chrono::milliseconds(static_cast<std::int64_t>(*plan_.watchdog * 1000));
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const RankRun& run = ranks_[i];
    jobs::RankRecord rank;
    rank.rank = static_cast<int>(i);
    rank.node = node_name(run.node);
    rank.gpu = run.gpu;
    if (plan_.declares_roles) rank.role = "stage " + std::to_string(run.stage);
    if (plan_.kind == jobs::JobKind::inference) rank.replica = "replica-" + std::to_string(i / kGpus);
    rank.pod = plan_.name + "-worker-" + std::to_string(i / kGpus);
    rank.pid = 4000 + static_cast<std::int64_t>(i);
    record.ranks.push_back(std::move(rank));
  }
  send(at, std::move(record));
}

}  // namespace autopilot::simulated_jobs
