// SPDX-License-Identifier: Apache-2.0
#include "jobs/detectors/stall.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "jobs/detectors/series.hpp"

namespace autopilot::jobs {
namespace {

// With a smaller share of quiet GPUs the job computes.
constexpr double kComputingShare = 0.5;
constexpr double kQuietShare = 0.95;   // reference 2a.6, P2
constexpr double kSilentRatio = 0.01;  // reference 2a.6, P3
constexpr double kBusyRatio = 0.5;     // traffic as usual contradicts a stall
constexpr double kUsedFabric = 1e6;    // bytes/s: a job with less does not use the fabric
constexpr double kStorageRatio = 5;    // of the job's own median
constexpr double kExplainedAge = 30;   // seconds: half of the shortest time-out
constexpr double kUsedStorage = 5e7;   // bytes/s: a checkpoint writes more

Duration stall_seconds(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::clamp(seconds, 0.0, 1e9)));
}

// The GPU or process of the culprit may work while all others wait.
double least_quiet_share(int known) {
  if (known < 4) return kQuietShare;
  return std::min(kQuietShare, 1 - 1.001 / known);
}

bool is_positive(const std::optional<int>& count) {
  return count && *count > 0;
}

bool is_value(const std::optional<double>& value) {
  return value && std::isfinite(*value) && *value >= 0;
}

bool is_heavy(const std::optional<double>& bytes_s, const OwnHistory& history) {
  if (!is_value(bytes_s) || *bytes_s < kUsedStorage) return false;
  const std::optional<double> usual = history.median();
  return usual && *bytes_s >= kStorageRatio * *usual;
}

// Processes that work beside idle GPUs compile, save or prepare data. Of a job with GPUs most do so: one may
// be the culprit that the others wait for. Of a job without GPUs one is enough: it may save or evaluate
// alone.
bool is_working(const StallSigns& signs) {
  return is_value(signs.working_share) && *signs.working_share > (signs.gpus > 0 ? 0.5 : 0);
}

}  // namespace

void OwnHistory::add(float value) {
  if (!std::isfinite(value)) return;
  if (values_.size() < kMaxValues) {
    values_.push_back(value);
    return;
  }
  values_[next_] = value;
  next_ = (next_ + 1) % kMaxValues;
}

std::optional<double> OwnHistory::median() const {
  if (values_.size() < kEnough) return std::nullopt;
  std::vector<float> copy = values_;
  return series_median(copy);
}

std::string_view to_string(StallSign sign) {
  switch (sign) {
    case StallSign::gpus_quiet:
      return "the GPUs wait or are idle";
    case StallSign::processes_asleep:
      return "the processes of the ranks sleep";
    case StallSign::fabric_silent:
      return "the fabric is silent";
    case StallSign::collectives_frozen:
      return "no rank starts a collective";
    case StallSign::ranks_unresponsive:
      return "a rank does not answer";
    case StallSign::ranks_stopped:
      return "the process of a rank is stopped";
    case StallSign::ranks_in_disk_sleep:
      return "the process of a rank waits for storage";
  }
  return {};
}

struct StallDetector::Judged {
  std::vector<StallSign> signs;
  StallGuard guard = StallGuard::none;
  double limit_s = 0;
  double age_s = 0;
  double quiet_s = 0;     // of it, since the job does what it does now
  bool is_known = false;  // the age is
  bool is_contradicted = false;
  bool is_confirming = false;  // a sign of GPUs, fabric, RAS or processes that sleep or are stopped holds
  bool is_strong = false;
};

// The limit for the age of progress, and the guard that sets it.
double StallDetector::limit_of(const StallSigns& signs, StallGuard& guard) const {
  const double soft =
      signs.soft_timeout_s > 0 && std::isfinite(signs.soft_timeout_s) ? signs.soft_timeout_s : 300;
  if (!signs.has_first_step) {
    if (is_positive(signs.ranks_stopped)) return options_.stopped_at_start_s;
    guard = StallGuard::start;
    return std::max(options_.start_s, soft);
  }
  if (is_positive(signs.ranks_stopped)) return std::min(options_.stopped_s, soft);
  if (is_positive(signs.ranks_unresponsive)) return soft;
  const Phase phase = signs.phase.value_or(Phase::train);
  if (phase != Phase::train) {
    guard = StallGuard::phase;
    if (is_value(signs.phase_timeout_s)) return std::max(*signs.phase_timeout_s, soft);
    return std::max(phase == Phase::checkpoint ? options_.checkpoint_s : options_.phase_s, soft);
  }
  return limit_of_work(signs, soft, guard);
}

// The limit of a job that states no phase, by what its processes do.
double StallDetector::limit_of_work(const StallSigns& signs, double soft, StallGuard& guard) const {
  double limit = soft;
  // A confirmed hang keeps its guard: ranks that end write their last words beside idle GPUs.
  if (is_working(signs) && (!status_.confirmed || stretch_.guard == StallGuard::host)) {
    guard = StallGuard::host;
    limit = std::max(options_.phase_s, limit);
  }
  if (is_heavy(signs.storage_bytes_s, storage_) || is_heavy(signs.process_bytes_s, process_bytes_)) {
    guard = StallGuard::storage;
    limit = std::max(options_.storage_s, limit);
  }
  return limit;
}

StallDetector::Judged StallDetector::judge(const StallSigns& signs) const {
  Judged judged;
  std::optional<double> age = signs.progress_age_s;
  if (!signs.has_first_step && !is_value(age)) age = signs.since_start_s;
  judged.is_known = is_value(age);
  judged.age_s = judged.is_known ? *age : 0;
  judged.limit_s = limit_of(signs, judged.guard);

  const std::optional<double> usual = fabric_.median();
  const bool has_fabric = usual && *usual >= kUsedFabric && is_value(signs.fabric_bytes_s);
  const bool has_storage = (is_value(signs.storage_bytes_s) && storage_.median().has_value()) ||
                           (is_value(signs.process_bytes_s) && process_bytes_.median().has_value());
  const bool has_gpus = is_value(signs.quiet_share);
  const bool is_quiet = has_gpus && *signs.quiet_share >= least_quiet_share(signs.gpus);
  const bool is_asleep =
      is_value(signs.asleep_share) && *signs.asleep_share >= least_quiet_share(signs.ranks);
  const bool is_silent = has_fabric && *signs.fabric_bytes_s <= kSilentRatio * *usual;
  const bool is_frozen = signs.collectives_frozen.value_or(false);
  const bool is_unresponsive = is_positive(signs.ranks_unresponsive);

  // A rank that is stopped keeps the others waiting, also where no GPU is known.
  const bool is_stopped = is_positive(signs.ranks_stopped);
  const auto note = [&judged](bool holds, StallSign sign) {
    if (holds) judged.signs.push_back(sign);
  };
  note(is_quiet, StallSign::gpus_quiet);
  note(is_asleep, StallSign::processes_asleep);
  note(is_silent, StallSign::fabric_silent);
  note(is_frozen, StallSign::collectives_frozen);
  note(is_unresponsive, StallSign::ranks_unresponsive);
  note(is_stopped, StallSign::ranks_stopped);
  note(is_positive(signs.ranks_in_disk_sleep), StallSign::ranks_in_disk_sleep);

  judged.is_confirming = is_quiet || is_asleep || is_silent || is_frozen || is_unresponsive || is_stopped;
  judged.is_strong =
      is_frozen || is_unresponsive || is_stopped || (has_storage && (is_asleep || (is_quiet && is_silent)));
  const bool is_computing = has_gpus && *signs.quiet_share <= 1 - kQuietShare;
  const bool is_busy = has_fabric && *signs.fabric_bytes_s >= kBusyRatio * *usual;
  const bool is_advancing = signs.collectives_frozen == false;
  // An evaluation computes without collectives: a silent fabric and frozen counts do not make it a hang.
  if (!is_quiet && !is_silent && !is_unresponsive)
    judged.is_contradicted = is_computing || is_busy || (is_advancing && !is_frozen);
  else if (!is_unresponsive)
    judged.is_contradicted = has_gpus && *signs.quiet_share <= kComputingShare;
  return judged;
}

void StallDetector::Hold::update(WallTime now, bool holds, Duration tolerance) {
  if (holds) {
    since = since.value_or(now);
    last = now;
  } else if (last && now - *last > tolerance) {
    since = last = std::nullopt;
  }
}

const StallStatus& StallDetector::add(const StallSigns& signs) {
  if (last_ && signs.now < *last_) return status_;
  last_ = signs.now;
  Judged judged = judge(signs);
  judged.quiet_s = quiet_seconds(signs, judged);
  status_.signs = judged.signs;
  status_.guard = StallGuard::none;
  status_.limit_s = judged.limit_s;
  explain(judged);
  advance(signs, judged);
  learn(signs);
  return status_;
}

// Time without progress in which the job did the same. Each activity has its own limit.
double StallDetector::quiet_seconds(const StallSigns& signs, const Judged& judged) {
  const Phase phase = signs.phase.value_or(Phase::train);
  const bool has_changed = judged.guard != stretch_.guard || phase != stretch_.phase;
  if (judged.age_s < last_age_s_)
    stretch_ = {.guard = judged.guard, .phase = phase};
  else if ((has_changed || judged.is_contradicted) && stretch_.changes < kMaxChanges) {
    stretch_.changes += has_changed ? 1 : 0;
    stretch_ = {signs.now, judged.guard, phase, stretch_.changes};
  }
  if (!stretch_.since) return judged.age_s;
  return std::min(judged.age_s, to_seconds(signs.now - *stretch_.since));
}

void StallDetector::advance(const StallSigns& signs, const Judged& judged) {
  const bool was_suspected = status_.suspected.has_value();
  // An unknown age neither raises nor ends a suspicion.
  if (!judged.is_known) {
    if (!was_suspected) status_.state = signs.has_first_step ? StallState::unknown : StallState::starting;
    return;
  }
  const bool is_old = judged.quiet_s > judged.limit_s;
  if (!is_old || judged.is_contradicted) {
    status_.guard = !is_old && judged.age_s > signs.soft_timeout_s ? judged.guard : StallGuard::none;
    status_.state = signs.has_first_step ? StallState::running : StallState::starting;
    status_.last_progress = status_.suspected = status_.confirmed = std::nullopt;
    weak_ = strong_ = {};
    return;
  }
  status_.last_progress = signs.now - stall_seconds(judged.age_s);
  if (!was_suspected) status_.suspected = signs.now;
  if (status_.confirmed) return;
  status_.state = StallState::suspected;

  const Duration tolerance = stall_seconds(options_.tolerance_s);
  weak_.update(signs.now, judged.is_confirming, tolerance);
  strong_.update(signs.now, judged.is_strong, tolerance);
  if (!judged.is_confirming || !(strong_.length() >= stall_seconds(options_.confirm_s) ||
                                 weak_.length() >= stall_seconds(options_.confirm_weak_s)))
    return;
  status_.state = StallState::confirmed;
  status_.confirmed = signs.now;
}

void StallDetector::explain(const Judged& judged) {
  if (!judged.is_known) return;
  if (judged.age_s < last_age_s_) status_.is_gap_explained = false;
  last_age_s_ = judged.age_s;
  if (judged.age_s < kExplainedAge) return;
  if (judged.is_contradicted || judged.guard == StallGuard::storage || judged.guard == StallGuard::host)
    status_.is_gap_explained = true;
}

// Traffic counts as usual only while the job makes progress.
void StallDetector::learn(const StallSigns& signs) {
  if (status_.state != StallState::running || !is_value(signs.progress_age_s)) return;
  if (*signs.progress_age_s > signs.soft_timeout_s / 2 || signs.phase.value_or(Phase::train) != Phase::train)
    return;
  if (is_value(signs.fabric_bytes_s)) fabric_.add(static_cast<float>(*signs.fabric_bytes_s));
  if (is_value(signs.storage_bytes_s)) storage_.add(static_cast<float>(*signs.storage_bytes_s));
  if (is_value(signs.process_bytes_s)) process_bytes_.add(static_cast<float>(*signs.process_bytes_s));
}

void StallDetector::restart() {
  status_ = {};
  last_ = std::nullopt;
  weak_ = strong_ = {};
  last_age_s_ = 0;
  stretch_ = {};
}

}  // namespace autopilot::jobs
