// SPDX-License-Identifier: Apache-2.0
#include "jobs/job_watch.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "jobs/causes.hpp"
#include "jobs/decision/alert.hpp"

namespace autopilot::jobs {
namespace {

constexpr double kSecondsOfHour = 3600;
// Probability of the culprit from which a finding accuses it, and from which it is shown at all.
constexpr double kAccuses = 0.5;
constexpr double kShown = 0.3;
// A time without progress, in seconds, that distorts rates for some minutes after it.
constexpr double kLongGap = 45;
constexpr Duration kAfterGap = std::chrono::minutes(4);
// A regression that a culprit explained is reported by itself if it lasts that long after the culprit's end.
constexpr Duration kOutlasts = std::chrono::minutes(10);
constexpr Duration kFresh = std::chrono::minutes(3);
// Without new evidence a finding ends after this time.
constexpr Duration kQuiet = std::chrono::minutes(10);

std::optional<double> hours(std::optional<Duration> duration) {
  if (!duration) return std::nullopt;
  return to_seconds(*duration) / kSecondsOfHour;
}

// It ends with the attempt of the job.
bool is_of_attempt(const JobFinding& finding) {
  return finding.effect == Effect::hang || finding.effect == Effect::crash || finding.effect == Effect::none;
}

Situation situation_of(const SlowCase& found) {
  if (found.is_fatal) return Situation::fatal;
  return found.cause == kProcessorWait ? Situation::processor_wait : Situation::usual;
}

std::string text_of(double fraction) {
  return std::to_string(static_cast<int>(std::lround(100 * fraction))) + " %";
}

}  // namespace

JobWatch::JobWatch(const EngineOptions& options, Fleet& fleet, const EventMemory& events,
                   const Policy& policy, const SignalWeightsPtr& weights)
    : fleet_(fleet), events_(events), policy_(policy), weights_(weights), slow_(options) {}

bool JobWatch::has_equal_ranks(const JobRecord& job) const {
  return std::ranges::equal(job.ranks, record_.ranks, [](const RankRecord& a, const RankRecord& b) {
    return a.rank == b.rank && a.node == b.node && a.gpu == b.gpu;
  });
}

void JobWatch::start(const JobRecord& job) {
  const bool is_known = members_ != nullptr;
  if (is_known && crash_.has_failed()) report_crash(job.time);
  const bool is_equal = is_known && has_equal_ranks(job);
  if (is_known && job.attempt == record_.attempt && is_equal) return;
  // After a change of the evaluation, the ranks of one attempt become known by and by.
  const bool is_next = is_known && job.attempt > record_.attempt;
  book_.resolve(job.time, [&](const JobFinding& finding) {
    return is_of_attempt(finding) && (finding.is_confirmed || is_next);
  });
  members_.reset();
  record_ = job;
  members_ = std::make_unique<Membership>(fleet_, record_);
  progress_.start(record_);
  hang_.start();
  crash_.start();
  replicas_ = {};
  rhythm_.start();
  if (!is_equal) {
    first_period_s_.reset();
    work_.start();
  }
  slow_.start(context(), is_equal);
  ended_.reset();
}

void JobWatch::restore(int attempt, std::vector<JobFinding> findings, WallTime now) {
  book_.restore(std::move(findings), now);
  if (record_.attempt > attempt) book_.resolve(now, is_of_attempt);
}

void JobWatch::finish(const JobEndRecord& end) {
  // Ranks of a job that was stopped end by a signal.
  const bool is_failure = end.outcome == Outcome::failed || end.outcome == Outcome::unknown;
  if (end.outcome == Outcome::failed || (is_failure && crash_.has_failed())) report_crash(end.time);
  book_.resolve(end.time, [](const JobFinding&) { return true; });
  for (const std::uint32_t node : members_->nodes())
    fleet_.node(node).telemetry.forget_job(record_.job);
  // The nodes are free for other jobs.
  members_.reset();
  members_ = std::make_unique<Membership>(fleet_, JobRecord{.job = record_.job});
  ended_ = end.time;
}

void JobWatch::add(const CollectivesRecord& record) {
  if (hang_.add(record)) progress_.add_collectives(record.time);
  slow_.add(record);
  unanswered_.reset();
}

void JobWatch::add(const ServingRecord& record) {
  progress_.add(record);
  replicas_.add(record);
}

void JobWatch::add(const AnswerRecord& record) {
  unanswered_ = record;
}

void JobWatch::add_power(const WindowRecord& window) {
  const auto number = fleet_.number_of(window.node);
  if (!number || ended_) return;
  for (const FastPower& power : window.fast)
    if (!power.gpus.empty() && !members_->ranks_on(*number, power.gpus.front()).empty())
      rhythm_.add(window.time, power);
}

void JobWatch::tick(WallTime now) {
  now_ = now;
  if (ended_) return;
  const JobContext job = context();
  for (const Gap& gap : progress_.take_gaps()) {
    hang_.add(gap);
    if (gap.seconds >= kLongGap) long_gap_ = progress_.last_advance();
  }
  hang_.tick(job, now);
  if (hang_.is_computing().value_or(false)) progress_.add_activity(now);
  if (hang_.status().state == StallState::running)
    book_.resolve(now, [](const JobFinding& finding) {
      return (finding.effect == Effect::hang && finding.cause != kReplica) ||
             (finding.effect == Effect::crash && !finding.is_confirmed);
    });
  if (crash_.is_due(now)) report_crash(now);
  if (hang_.status().state == StallState::confirmed && !crash_.failed()) report_hang(now);
  report_replicas(now);
  report_loss(now);
}

void JobWatch::minute(WallTime end) {
  if (ended_) return;
  const Progress::Minute steps = progress_.take_minute();
  if (steps.step_s) step_s_ = steps.step_s;
  const StallState stall = hang_.status().state;
  SlowWatch::Minute minute{.end = end, .steps = steps};
  minute.is_training = stall == StallState::running && !progress_.has_other_phase_since(end - kMinute) &&
                       (progress_.source() != ProgressSource::steps || progress_.is_warm()) &&
                       !crash_.failed();
  // A rate over a checkpoint that the job does not state is not the pace of its steps.
  const bool has_gap = long_gap_ && end - *long_gap_ < kAfterGap;
  if (progress_.source() == ProgressSource::collectives && !has_gap)
    minute.collectives_per_s = hang_.collectives_per_s(end);
  const auto rhythm = rhythm_.evaluate(end);
  if (progress_.source() <= ProgressSource::activity && rhythm) {
    if (!first_period_s_) first_period_s_ = rhythm->period_s;
    step_s_ = fold_period(rhythm->period_s, slow_.usual_step_s().value_or(*first_period_s_));
    if (work_.confirms(std::log(*step_s_), WorkRate::of_minute(context(), end)))
      minute.steps.step_s = step_s_;
    if (work_.has_begun_anew()) {
      first_period_s_ = step_s_;
      slow_.forget_pace();
    }
  }
  bool is_explained = false;
  for (const SlowCase& found : slow_.minute(context(), minute)) {
    report_slow(found, end);
    is_explained |= found.probability >= kAccuses;
  }
  fleet_.note_noise(slow_.noisy_ports(), end);
  const JobFinding* open = book_.find(Effect::slow);
  report_regression(end, is_explained || (open != nullptr && open->probability >= kAccuses));
  report_slow_replicas(end);
  book_.expire(end, kQuiet);
}

JobFinding JobWatch::draft(Effect effect, Entity culprit, WallTime onset) const {
  JobFinding finding;
  finding.job = record_.job;
  finding.effect = effect;
  finding.culprit = std::move(culprit);
  finding.onset = onset;
  if (weights_) finding.weights = weights_->version;
  return finding;
}

DecisionInputs JobWatch::inputs_for(const JobFinding& finding, Situation situation, WallTime now) const {
  DecisionInputs inputs;
  inputs.effect = finding.effect;
  inputs.situation = situation;
  inputs.culprit = finding.culprit;
  inputs.probability = finding.probability;
  if (finding.slowdown) inputs.goodput_loss = goodput_loss_of(*finding.slowdown);
  if (const auto checkpoint = progress_.last_checkpoint()) {
    inputs.since_checkpoint = to_seconds(now - *checkpoint) / kSecondsOfHour;
    inputs.hears_of_checkpoints = true;
  }
  if (progress_.checkpoint_interval_s())
    inputs.checkpoint_interval = *progress_.checkpoint_interval_s() / kSecondsOfHour;
  if (progress_.checkpoint_cost_s()) inputs.checkpoint_cost = *progress_.checkpoint_cost_s() / kSecondsOfHour;
  inputs.restart = hours(record_.restart);
  inputs.watchdog = hours(record_.watchdog);
  if (record_.remaining)
    inputs.remaining = std::max(0.0, to_seconds(*record_.remaining - (now - record_.time))) / kSecondsOfHour;
  if (finding.effect == Effect::hang) {
    const double age = to_seconds(now - finding.onset);
    inputs.stalled = age / kSecondsOfHour;
    inputs.hang_probability = hang_.probability(age);
  }
  inputs.nodes = static_cast<int>(members_->nodes().size());
  inputs.spares = record_.spares;
  return inputs;
}

void JobWatch::raise(JobFinding finding, Situation situation, WallTime now) {
  finding.id = finding_id(finding.job, finding.effect, finding.culprit, finding.onset);
  finding.decision = decide(inputs_for(finding, situation, now), policy_);
  finding.severity = severity_of(finding);
  book_.raise(std::move(finding), now);
}

void JobWatch::report_hang(WallTime now) {
  HangCulprit found = hang_.culprit(context(), slow_.network(), now);
  const WallTime onset = hang_.status().last_progress.value_or(now);
  JobFinding finding = draft(Effect::hang, std::move(found.culprit), onset);
  finding.ranks = std::move(found.ranks);
  finding.cause = kHang;
  finding.probability = found.probability;
  finding.evidence = std::move(found.evidence);
  finding.summary = "no step has ended since " + format_time(onset) + ". " + found.sentence;
  for (const StallSign sign : hang_.status().signs)
    finding.evidence.push_back(make_evidence("stall", std::string(to_string(sign)), now));
  raise(std::move(finding), Situation::usual, now);
}

void JobWatch::report_crash(WallTime now) {
  Failure failure = crash_.explain(context(), now);
  Situation situation = Situation::usual;
  if (failure.kind == FailureKind::application)
    situation = Situation::application;
  else if (failure.culprit.is_accused())
    situation = Situation::fatal;
  JobFinding finding = draft(Effect::crash, failure.culprit, crash_.failed().value_or(now));
  if (failure.rank) finding.ranks = {*failure.rank};
  finding.cause = failure.cause;
  finding.probability = finding.culprit.is_accused() ? 0.9 : 0;
  finding.evidence = failure.evidence;
  finding.summary = failure.sentence;
  // A job that hung ends itself: what it hung on is the cause.
  const JobFinding* hang = book_.find(Effect::hang);
  if (hang != nullptr && hang->is_confirmed && hang->culprit.is_accused() && !finding.culprit.is_accused()) {
    finding.culprit = hang->culprit;
    finding.ranks = hang->ranks;
    finding.cause = hang->cause;
    finding.probability = hang->probability;
    finding.summary += ", after a hang: " + hang->summary;
  }
  failure.culprit = finding.culprit;
  failure.sentence = finding.summary;
  failure_ = std::move(failure);
  raise(std::move(finding), situation, now);
}

void JobWatch::report_slow(const SlowCase& found, WallTime end) {
  if (found.probability < kShown) return;
  const std::optional<double> slowdown = slow_.slowdown_by(found);
  const auto& regression = slow_.regression();
  JobFinding finding = draft(slowdown ? Effect::slow : Effect::none, found.culprit,
                             regression ? std::min(regression->onset, found.since) : found.since);
  finding.ranks = found.ranks;
  finding.cause = found.cause;
  finding.probability = found.probability;
  finding.slowdown = slowdown;
  finding.evidence = found.evidence;
  finding.ruled_out = found.ruled_out;
  finding.summary =
      to_string(found.culprit) + (slowdown ? " slows the job by " + text_of(*slowdown) : " is at fault");
  if (!found.evidence.empty()) finding.summary += ": " + found.evidence.front().text;
  raise(std::move(finding), situation_of(found), end);
}

void JobWatch::report_regression(WallTime end, bool is_explained) {
  const auto& regression = slow_.regression();
  if (!regression || is_explained) {
    // An unconfirmed one began before the steps that this evaluation knows.
    book_.resolve(end, [](const JobFinding& finding) {
      return finding.effect == Effect::regression && finding.is_confirmed;
    });
    if (regression) explained_ = end;
    return;
  }
  // What a culprit explained has to outlast it, and values of before a gap do not count.
  const bool has_outlasted =
      !explained_ || regression->onset > *explained_ || regression->updated - *explained_ >= kOutlasts;
  if (!has_outlasted || end - regression->updated > kFresh) return;
  JobFinding finding = draft(Effect::regression, {}, regression->onset);
  const bool is_congested = slow_.is_congested(end);
  finding.cause = is_congested ? kCongestion : kRegression;
  finding.probability = 0;
  finding.slowdown =
      regression->before_s > 0 ? std::optional(regression->after_s / regression->before_s - 1) : std::nullopt;
  finding.summary = "steps take " + text_of(finding.slowdown.value_or(0)) + " longer since " +
                    format_time(regression->onset) +
                    (is_congested ? "; other jobs fill the network"
                                  : ", and no part of the machines differs from its peers");
  raise(std::move(finding), Situation::usual, end);
}

Entity JobWatch::place_of_replica(const std::string& replica) const {
  std::set<std::string> nodes;
  for (const RankRecord& rank : record_.ranks)
    if (rank.replica == replica) nodes.insert(rank.node);
  if (nodes.size() != 1) return {};
  return {EntityKind::host, *nodes.begin(), -1, {}};
}

void JobWatch::report_slow_replicas(WallTime end) {
  for (const Replicas::Slow& slow : replicas_.end_minute()) {
    JobFinding finding = draft(Effect::slow, place_of_replica(slow.replica), end - std::chrono::minutes(8));
    finding.cause = kReplica;
    finding.probability = 0.8;
    finding.slowdown = slow.ratio - 1;
    finding.summary = "replica " + slow.replica + " needs " + text_of(slow.ratio - 1) +
                      " more time for a token than the median of the replicas";
    raise(std::move(finding), Situation::usual, end);
  }
}

void JobWatch::report_replicas(WallTime now) {
  if (record_.kind != JobKind::inference) return;
  const std::vector<Replicas::Hung> hung = replicas_.hung(now);
  if (hung.empty()) {
    book_.resolve(now, [](const JobFinding& finding) {
      return finding.cause == kReplica && finding.effect == Effect::hang && finding.is_confirmed;
    });
    return;
  }
  JobFinding finding = draft(Effect::hang, place_of_replica(hung.front().replica), hung.front().since);
  for (const RankRecord& rank : record_.ranks)
    if (rank.replica == hung.front().replica) finding.ranks.push_back(rank.rank);
  finding.cause = kReplica;
  finding.probability = hung.size() == 1 ? 0.85 : 0;
  if (hung.size() > 1) finding.culprit = {};
  finding.summary = "replica " + hung.front().replica + " has requests and returned no token since " +
                    format_time(hung.front().since);
  if (hung.size() > 1)
    finding.summary += ", and so have " + std::to_string(hung.size() - 1) + " more replicas";
  raise(std::move(finding), Situation::usual, now);
}

void JobWatch::report_loss(WallTime now) {
  const auto since = progress_.loss_is_nan();
  if (!since) {
    book_.resolve(
        now, [](const JobFinding& finding) { return finding.cause == kLossIsNan && finding.is_confirmed; });
    return;
  }
  JobFinding finding = draft(Effect::none, {}, *since);
  finding.cause = kLossIsNan;
  finding.probability = 1;
  finding.summary =
      "the loss is not a number since " + format_time(*since) + "; checkpoints after it are suspect";
  raise(std::move(finding), Situation::loss_not_a_number, now);
}

JobState JobWatch::state() const {
  JobState state;
  state.job = record_.job;
  state.name = record_.name;
  state.attempt = record_.attempt;
  state.ranks = static_cast<int>(record_.ranks.size());
  std::set<std::string_view> nodes;
  for (const RankRecord& rank : record_.ranks)
    nodes.insert(rank.node);
  state.nodes = static_cast<int>(nodes.size());
  state.step_s = step_s_;
  state.step = progress_.step();
  state.last_step = progress_.last_advance();
  state.last_checkpoint = progress_.last_checkpoint();
  state.checkpoint_interval_s = progress_.checkpoint_interval_s();
  state.progress_source = to_string(progress_.source());
  if (unanswered_) state.not_seen.emplace_back("counts of collectives: the source does not answer");
  if (progress_.source() <= ProgressSource::activity) state.not_seen.emplace_back("steps");
  if (ended_)
    state.health = JobHealth::ended;
  else if (book_.find(Effect::hang) != nullptr)
    state.health = JobHealth::hung;
  else {
    switch (hang_.status().state) {
      case StallState::unknown:
        state.health = JobHealth::unknown;
        break;
      case StallState::starting:
        state.health = JobHealth::starting;
        break;
      case StallState::running:
        state.health = book_.find(Effect::slow) || slow_.regression() ? JobHealth::slow : JobHealth::running;
        break;
      case StallState::suspected:
      case StallState::confirmed:
        state.health = JobHealth::stalled;
        break;
    }
  }
  return state;
}

}  // namespace autopilot::jobs
