// SPDX-License-Identifier: Apache-2.0
#include "postflight/validator.hpp"

#include <algorithm>
#include <utility>

#include "diagnostics/cluster/deep_test_words.hpp"
#include "diagnostics/schedule/idle_now.hpp"
#include "learning/record_check.hpp"
#include "logging/log.hpp"
#include "postflight/comparison.hpp"
#include "postflight/snapshot_facts.hpp"

namespace autopilot::postflight {
namespace {

using learning::ValidationResult;
using learning::Verdict;

constexpr Duration kIdle = std::chrono::hours{1};
constexpr Duration kSoon = std::chrono::milliseconds{200};

// The GPUs with these indexes of the driver.
std::vector<Subject> gpus_with(const NodeSnapshot& snapshot, const std::vector<int>& indexes) {
  std::vector<Subject> held;
  for (const Subject& gpu : diagnostics::gpus_in(snapshot))
    if (gpu.index && std::ranges::find(indexes, *gpu.index) != indexes.end()) held.push_back(gpu);
  return held;
}

// Checks without an answer.
std::vector<MissingResult> missing_of(const std::set<std::string>& pending) {
  std::vector<MissingResult> missing;
  for (const std::string& check : pending)
    missing.push_back({check, "no answer within " + format_duration(Validator::kPassive)});
  return missing;
}

}  // namespace

Validator::Validator(std::string node, const Clock& clock, ValidatorDoors doors)
    : node_(std::move(node)), clock_(clock), doors_(std::move(doors)), queue_(node_) {}

void Validator::restore(std::string_view open_jobs) {
  journaled_ = open_jobs;
  const auto jobs = parse_open_jobs(open_jobs);
  if (!jobs) {
    logging::log_warning("jobs that an earlier agent did not validate are not known",
                         {{"cause", jobs.error().what}});
    return journal();
  }
  for (const EndedJob& job : *jobs)
    keep(not_validated(node_, job, "the agent ended before the validation was complete", clock_.now().wall));
  journal();
}

void Validator::begin_job(const std::string& job) {
  if (running_.size() >= kMostRunning || running_.contains(job)) return;
  running_.emplace(job, doors_.snapshot()->results);
}

void Validator::end_job(EndedJob job) {
  auto before = running_.extract(job.job);
  if (stopping_ || doors_.settings().allowed == Allowed::off) return;
  Work work;
  work.number = next_number_++;
  work.gpus = gpus_with(*doors_.snapshot(), job.gpus);
  if (before) work.before = std::move(before.mapped());
  work.job = std::move(job);
  work.ready_at = clock_.now().mono;
  if (!has_room_for(work.job)) return join(std::move(work));
  queue_.add(std::move(work));
  journal();
  begin_due(clock_.now());
}

// A running first try counts as well.
bool Validator::has_room_for(const EndedJob& job) const {
  const std::size_t running = run_ && run_->work.tries == 1 ? 1 : 0;
  return queue_.first_tries() + running < kMostQueued && queue_.first_tries_of(job) < kMostQueuedOfUser;
}

Validator::Work* Validator::find_work(std::uint64_t number) {
  if (Work* found = queue_.find(number)) return found;
  return shared_ && shared_->work.number == number ? &shared_->work : nullptr;
}

void Validator::join(Work work) {
  if (joined_.size() >= kMostJoined) return note_dropped(work.job.job);
  ++counts_.joined;
  joined_.push_back(std::move(work));
  if (!shared_) begin_shared(clock_.now());
  journal();
}

// Jobs that end from now on wait for the next run: these checks can be older than their end.
void Validator::begin_shared(Instant now) {
  shared_ = std::make_unique<Shared>();
  shared_->ends = std::exchange(joined_, {});
  shared_->work.number = next_number_++;
  begin_passive(shared_->work, now);
}

void Validator::finish_shared(Instant now) {
  const auto is_over = [&] {
    return shared_->work.pending.empty() || now.mono >= shared_->work.begun + kPassive;
  };
  if (!shared_ || !is_over()) return;
  const std::unique_ptr<Shared> ended = std::move(shared_);
  for (Work& end : ended->ends)
    conclude_joined(std::move(end), ended->work, now);
  if (!joined_.empty()) begin_shared(now);
  journal();
}

void Validator::conclude_joined(Work end, const Work& passive, Instant now) {
  Plan plan;
  plan.reason = "passive checks only, because too many validations wait";
  write(node_job_of(node_, end.job, end.facts, end.gpus));
  keep(conclude({.node = node_,
                 .job = std::move(end.job),
                 .facts = std::move(end.facts),
                 .plan = std::move(plan),
                 .tries = 1,
                 .start = passive.start,
                 .end = now.wall,
                 .gpus = std::move(end.gpus),
                 .before = std::move(end.before),
                 .passive = passive.passive,
                 .measured = {},
                 .missing = missing_of(passive.pending),
                 .pair = {},
                 .stopped = {}}));
}

void Validator::note_dropped(const std::string& job) {
  ++counts_.dropped;
  const MonoTime now = clock_.now().mono;
  if (warned_ && now < *warned_ + kWarnEvery) return;
  warned_ = now;
  logging::log_warning("jobs end faster than this node can be checked, so some are not validated",
                       {{"job", job}, {"since_start", std::to_string(counts_.dropped)}});
}

// Passive checks of all jobs run at once, also while another job has its diagnostics.
void Validator::begin_due(Instant now) {
  for (Work& work : queue_.all())
    if (!work.has_begun && now.mono >= work.ready_at) begin_passive(work, now);
}

void Validator::begin_passive(Work& work, Instant now) {
  work.has_begun = true;
  work.start = now.wall;
  work.begun = now.mono;
  const std::vector<std::string> checks = doors_.passive_checks();
  work.pending = {checks.begin(), checks.end()};
  const std::uint64_t number = work.number;
  for (const std::string& check : checks) {
    const bool is_asked =
        doors_.run_check(check, [this, number](const CheckResult& result) { take_passive(number, result); });
    if (!is_asked) work.pending.erase(check);
  }
}

void Validator::take_passive(std::uint64_t number, const CheckResult& result) {
  Work* work = find_work(number);
  if (work == nullptr || work->pending.erase(result.check) == 0) return;
  if (result.health != Health::unsupported) work->passive.push_back(result);
}

bool Validator::is_ready(const Work& work, MonoTime now) const {
  if (!work.has_begun || now < work.begun + kSettle) return false;
  if (!work.pending.empty() && now < work.begun + kPassive) return false;
  if (!work.has_facts) return now >= work.begun + kMostSettle;
  return !awaits_pair_test(work.facts, node_) || now >= work.begun + kMostSettle + kPairTest;
}

void Validator::ask_due(MonoTime now) {
  for (Work& work : queue_.all())
    ask_about(work, now);
}

void Validator::ask_about(Work& work, MonoTime now) {
  const bool is_early = !work.has_begun || now < work.begun + kSettle;
  if (is_early || work.has_facts || (work.asked && now < *work.asked + kAskAgain)) return;
  work.asked = now;
  doors_.ask(work.job.job, [this, number = work.number](std::optional<JobFacts> facts) {
    Work* found = find_work(number);
    if (!facts || found == nullptr) return;
    found->facts = *std::move(facts);
    found->has_facts = true;
  });
}

MonoTime Validator::poll() {
  const Instant now = clock_.now();
  if (stopping_) return now.mono + kIdle;
  begin_due(now);
  ask_due(now.mono);
  finish_shared(now);
  if (!run_) begin_next(now.mono);
  if (run_) advance(now);
  if (run_ || shared_) return now.mono + kSoon;
  MonoTime next = now.mono + kIdle;
  for (const Work& work : queue_.all())
    next = std::min(next, work.has_begun ? std::max(work.begun + kSettle, now.mono + kSoon) : work.ready_at);
  return next;
}

void Validator::begin_next(MonoTime now) {
  auto next = queue_.take([&](const Work& work) { return is_ready(work, now); });
  if (!next) return;
  run_ = std::make_unique<Run>();
  run_->work = *std::move(next);
  run_->missing = missing_of(run_->work.pending);
  users_.reset();
  next_look_ = now;
}

void Validator::advance(Instant now) {
  Run& run = *run_;
  const bool tests_gpus = doors_.settings().allowed == Allowed::quick && !run.work.gpus.empty();
  if (!run.has_plan) {
    if (!tests_gpus || users_) return make_plan(now.mono);
    return look(now.mono);
  }
  if (run.judging) {
    if (now.mono < *run.judging + kPassive) return;
    run.judging.reset();
    if (!std::exchange(run.is_testing_pairs, false))
      run.missing.push_back({run.plan.diagnostics[run.next - 1], "its check has no result"});
  }
  if (run.operation.empty()) return start_next(now);
  if (const std::string why = doors_.wanted_by(); !why.empty() && run.stopped.empty()) yield(why);
  if (now.mono >= next_look_) look(now.mono);
}

void Validator::look(MonoTime now) {
  if (is_looking_ || now < next_look_) return;
  next_look_ = now + kWatch;
  is_looking_ = true;
  const bool is_asked =
      doors_.run_check(std::string(diagnostics::kProcesses), [this](const CheckResult& result) {
        is_looking_ = false;
        take_look(result);
      });
  if (is_asked) return;
  is_looking_ = false;
  if (run_ && !run_->has_plan) make_plan(now);
}

void Validator::take_look(const CheckResult& look) {
  users_ = look;
  if (!run_ || run_->operation.empty() || !run_->stopped.empty()) return;
  if (run_->is_testing_pairs && run_->work.gpus.empty()) return;
  const SnapshotPtr snapshot = doors_.snapshot();
  if (const std::string why = why_users_unknown(*snapshot, look); !why.empty()) return yield(why);
  if (run_->is_testing_pairs) {
    const std::string busy = busy_gpus(run_->work.gpus);
    return busy.empty() ? void() : yield(busy);
  }
  const auto all = diagnostics::gpus_in(*snapshot);
  const diagnostics::GpuSight sight{.gpus = all, .look = &*users_, .holder = doors_.holder()};
  if (const std::string why = diagnostics::newcomer(sight, run_->plan.gpus); !why.empty()) yield(why);
}

// A test between nodes has no process on a GPU.
std::string Validator::busy_gpus(const std::vector<Subject>& gpus) const {
  return diagnostics::idle_gpus(
             {.gpus = gpus, .look = users_ ? &*users_ : nullptr, .holder = doors_.holder()})
      .busy;
}

std::optional<Duration> Validator::last_pass(const std::vector<Subject>& gpus,
                                             const std::vector<std::string>& checks) const {
  const auto passes = doors_.passes();
  const WallTime now = clock_.now().wall;
  Duration oldest{0};
  for (const std::string& check : checks)
    for (const Subject& gpu : gpus) {
      const auto pass = std::ranges::find_if(passes, [&](const PassRecord& one) {
        return one.test == check && !gpu.uuid.empty() && gpu.uuid == one.gpu_uuid && one.time <= now;
      });
      if (pass == passes.end()) return std::nullopt;
      oldest = std::max(oldest, Duration(now - pass->time));
    }
  return oldest;
}

void Validator::make_plan(MonoTime now) {
  Run& run = *run_;
  const ValidatorSettings settings = doors_.settings();
  const SnapshotPtr snapshot = doors_.snapshot();
  PlanInput input{.allowed = settings.allowed,
                  .job = run.work.facts,
                  .held = run.work.gpus,
                  .idle = {},
                  .busy = {},
                  .is_driver_silent = is_driver_silent(*snapshot),
                  .wanted_by = doors_.wanted_by(),
                  .last_pass = last_pass(run.work.gpus, settings.quick),
                  .quick = settings.quick,
                  .deep = settings.deep,
                  .pair_check = settings.pair_check,
                  .node = node_,
                  .most = settings.most};
  if (users_) input.busy = why_users_unknown(*snapshot, *users_);
  if (input.busy.empty()) {
    const diagnostics::GpuSight sight{
        .gpus = run.work.gpus, .look = users_ ? &*users_ : nullptr, .holder = doors_.holder()};
    diagnostics::IdleGpus idle = diagnostics::idle_gpus(sight);
    input.idle = std::move(idle.idle);
    input.busy = std::move(idle.busy);
  }
  run.plan = plan_validation(input);
  run.has_plan = true;
  run.has_yielded = run.plan.yields;
  run.deadline = now + run.plan.deadline;
  if (run.plan.diagnostics.empty() && run.plan.pair_nodes.empty()) finish(clock_.now());
}

void Validator::start_next(Instant now) {
  Run& run = *run_;
  const bool is_pair_test_due = !run.plan.pair_nodes.empty() && !run.pair;
  const bool is_over = run.next >= run.plan.diagnostics.size() && !is_pair_test_due;
  if (!run.stopped.empty() || is_over) return finish(now);
  const Duration left = run.deadline - now.mono;
  if (left <= Duration{0}) {
    run.stopped = "the diagnostics took longer than `validation.max_minutes` allows";
    return finish(now);
  }
  if (const std::string why = doors_.wanted_by(); !why.empty()) {
    yield(why);
    return finish(now);
  }
  if (is_pair_test_due) return start_pair_test(left);
  const std::string& check = run.plan.diagnostics[run.next++];
  const auto operation = doors_.start(check, run.plan.gpus, left);
  if (!operation) {
    yield(check + " did not start: " + operation.error().what);
    return finish(now);
  }
  run.operation = operation->id;
  next_look_ = now.mono;
  if (operation->is_over()) note(*operation);
}

// Before the diagnostics of GPUs: the other nodes of the job wait for it.
void Validator::start_pair_test(Duration left) {
  Run& run = *run_;
  run.pair = PairRun{.check = run.plan.pair_check, .nodes = run.plan.pair_nodes, .said = {}, .result = {}};
  const auto operation =
      doors_.start(run.plan.pair_check, subjects_of(run.plan.pair_nodes), std::min(left, kPairTest));
  if (!operation) {
    run.pair->said = "it did not start: " + operation.error().what;
    return;
  }
  run.is_testing_pairs = true;
  run.operation = operation->id;
  next_look_ = clock_.now().mono;
  if (operation->is_over()) note(*operation);
}

// A missing result leaves this node unknown.
void Validator::take_pairs(const Operation& operation) {
  Run& run = *run_;
  run.pair->said = operation.message;
  if (operation.state != OperationState::succeeded) {
    run.is_testing_pairs = false;
    const bool is_ended_early =
        operation.state == OperationState::skipped || operation.state == OperationState::cancelled;
    if (is_ended_early) yield(operation.message);
    return;
  }
  run.judging = clock_.now().mono;
  const bool is_asked =
      doors_.run_check(operation.kind, [this, number = run.work.number](const CheckResult& result) {
        if (!run_ || run_->work.number != number || !run_->judging || !run_->is_testing_pairs) return;
        run_->judging.reset();
        run_->is_testing_pairs = false;
        run_->pair->result = result;
      });
  if (is_asked) return;
  run.judging.reset();
  run.is_testing_pairs = false;
}

void Validator::note(const Operation& operation) {
  if (!run_ || run_->operation != operation.id || run_->operation.empty() || !operation.is_over()) return;
  Run& run = *run_;
  run.operation.clear();
  if (run.is_testing_pairs) return take_pairs(operation);
  switch (operation.state) {
    case OperationState::succeeded:
      return judge(operation);
    case OperationState::skipped:
    case OperationState::cancelled:
      return yield(operation.message);
    default:
      run.missing.push_back({operation.kind, operation.message});
  }
}

// The check of the same id judges what the diagnostic measured.
void Validator::judge(const Operation& operation) {
  Run& run = *run_;
  run.judging = clock_.now().mono;
  const std::uint64_t number = run.work.number;
  const bool is_asked = doors_.run_check(operation.kind, [this, number](const CheckResult& result) {
    if (!run_ || run_->work.number != number || !run_->judging) return;
    run_->judging.reset();
    run_->measured.push_back(result);
  });
  for (learning::Measurement& one :
       measurements_of(operation.kind, operation.observations, *doors_.snapshot(), node_, operation.id,
                       operation.created))
    write(std::move(one));
  if (is_asked) return;
  run.judging.reset();
  run.missing.push_back({operation.kind, "its check is disabled"});
}

// A running diagnostic ends soon; its end comes to note().
void Validator::yield(const std::string& why) {
  Run& run = *run_;
  if (run.stopped.empty()) {
    run.stopped = why;
    run.has_yielded = true;
    ++counts_.yielded;
  }
  if (!run.operation.empty()) doors_.cancel(run.operation, why);
}

void Validator::finish(Instant now) {
  const std::unique_ptr<Run> ended = std::move(run_);
  Run& run = *ended;
  ValidationResult result = conclude({.node = node_,
                                      .job = run.work.job,
                                      .facts = run.work.facts,
                                      .plan = run.plan,
                                      .tries = run.work.tries,
                                      .start = run.work.start,
                                      .end = now.wall,
                                      .gpus = run.work.gpus,
                                      .before = run.work.before,
                                      .passive = std::move(run.work.passive),
                                      .measured = std::move(run.measured),
                                      .missing = std::move(run.missing),
                                      .pair = std::move(run.pair),
                                      .stopped = run.stopped});
  write(node_job_of(node_, run.work.job, run.work.facts, run.work.gpus));
  const Duration pause = doors_.settings().retry;
  const bool is_repeated = run.has_yielded && may_retry(run.work, result, now);
  if (is_repeated) result.summary += "; the diagnostics are tried again in " + format_duration(pause);
  keep(std::move(result));
  if (is_repeated) retry(std::move(run.work), now);
  journal();
}

// The GPUs of a node that did not pass need no further proof.
bool Validator::may_retry(const Work& work, const ValidationResult& result, Instant now) const {
  const Duration pause = doors_.settings().retry;
  const bool is_late = now.wall + pause - work.job.end > kRetryWithin;
  return pause > Duration{0} && !is_late && work.tries < kMostTries &&
         result.record.verdict != Verdict::failed;
}

void Validator::retry(Work work, Instant now) {
  Work again;
  again.number = next_number_++;
  again.job = std::move(work.job);
  again.before = std::move(work.before);
  again.gpus = std::move(work.gpus);
  again.tries = work.tries + 1;
  again.ready_at = now.mono + doors_.settings().retry;
  if (!queue_.add_retry(std::move(again))) ++counts_.dropped_retries;
}

void Validator::write(learning::HistoryRecord record) {
  if (!doors_.sink) return;
  learning::fit(record);
  doors_.sink(std::move(record));
}

// A repeated validation replaces the one before.
void Validator::keep(ValidationResult result) {
  switch (result.record.verdict) {
    case Verdict::passed:
      ++counts_.passed;
      break;
    case Verdict::failed:
      ++counts_.failed;
      break;
    case Verdict::unknown:
      ++counts_.unknown;
      break;
  }
  write(result.record);
  if (doors_.on_finished) doors_.on_finished(result);
  std::erase_if(results_, [&](const ValidationResult& one) { return one.record.id == result.record.id; });
  results_.push_back(std::move(result));
  if (results_.size() > kKept) results_.pop_front();
}

// No repetitions: a job whose diagnostics yielded has a record already.
void Validator::journal() {
  std::vector<EndedJob> open;
  const auto add = [&](const auto& works) {
    for (const Work& work : works)
      if (work.tries == 1) open.push_back(work.job);
  };
  if (run_ && run_->work.tries == 1) open.push_back(run_->work.job);
  add(queue_.all());
  if (shared_) add(shared_->ends);
  add(joined_);
  if (auto text = to_text(open); text != journaled_) {
    journaled_ = text;
    doors_.remember_open(std::move(text));
  }
}

void Validator::stop() {
  if (run_ && !run_->operation.empty()) doors_.cancel(run_->operation, "the agent stops");
  stopping_ = true;
}

std::vector<ValidationResult> Validator::results() const {
  return {results_.rbegin(), results_.rend()};
}

ValidatorCounts Validator::counts() const {
  ValidatorCounts counts = counts_;
  counts.waiting =
      queue_.all().size() + joined_.size() + (run_ ? 1 : 0) + (shared_ ? shared_->ends.size() : 0);
  return counts;
}

}  // namespace autopilot::postflight
