// SPDX-License-Identifier: Apache-2.0

#include "controller/executor.hpp"

#include <utility>

#include "controller/reconcilers/world_view.hpp"
#include "controller/steps.hpp"
#include "kube/objects.hpp"
#include "logging/log.hpp"

namespace autopilot::controller {

namespace {

std::string name_of(const Target& target) {
  return target.kind + '/' + (target.name_space.empty() ? "" : target.name_space + '/') + target.name;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text += (text.empty() ? "" : " ") + word;
  return text;
}

// Logs one completed action: what, on which object, why, the evidence, the state of the budgets, and the
// actor. Events and marks are logged at the level debug.
void log_done(const PlannedAction& action, const std::string& actor) {
  const bool is_small = action.kind == ActionKind::event || action.kind == ActionKind::mark_report;
  logging::log(is_small ? logging::LogLevel::debug : logging::LogLevel::info, "done",
               {{"action", std::string(to_string(action.kind))},
                {"target", name_of(action.target)},
                {"plan", action.plan},
                {"why", action.why},
                {"evidence", joined(action.evidence)},
                {"budget", action.budget},
                {"actor", actor}});
}

constexpr std::size_t kMostEvents = 256;
constexpr int kEventTries =
    3;  // of an Event that exists when it is created and is missing when it is updated
constexpr kube::BackOffTimes kReadAgain{.first = std::chrono::milliseconds{200},
                                        .last = std::chrono::seconds{10}};
constexpr std::string_view kStatus = "/status";

// The server can have executed the request.
bool is_unclear(const kube::ApiError& why) {
  return why.verdict.outcome == kube::ApiOutcome::unreachable ||
         why.verdict.outcome == kube::ApiOutcome::server_error;
}

// No step of the plan is in progress: a failed step has succeeded or is no longer needed. A waiting plan can
// still move pods.
bool is_at_rest(Phase phase) {
  return phase != Phase::executing && phase != Phase::undoing && phase != Phase::waiting;
}

std::string object_of(const Write& write) {
  const bool is_status = write.path.ends_with(kStatus);
  return is_status ? write.path.substr(0, write.path.size() - kStatus.size()) : write.path;
}

}  // namespace

Executor::Executor(net::EventLoop& loop, kube::Client& client, const Clock& clock, ClusterSnapshot& snapshot,
                   ExecutorOptions options, std::function<bool()> is_leader, std::function<double()> random,
                   std::function<void(bool has_asked)> on_idle)
    : loop_(loop),
      client_(client),
      clock_(clock),
      snapshot_(snapshot),
      options_(std::move(options)),
      marks_(node_marks(options_.prefix)),
      is_leader_(std::move(is_leader)),
      random_(std::move(random)),
      on_idle_(std::move(on_idle)),
      attempts_(random_),
      events_(kMostEvents) {}

Executor::Work::Work(Decision decision)
    : has_entry(decision.entry.has_value()),
      entry(std::move(decision.entry).value_or(LedgerEntry{})),
      actions(std::move_iterator(decision.actions.begin()), std::move_iterator(decision.actions.end())),
      must_write(has_entry && decision.is_changed) {}

void Executor::carry_out(Plan plan) {
  AUTOPILOT_ASSERT(!is_busy_);
  waiting_.assign(std::move_iterator(plan.decisions.begin()), std::move_iterator(plan.decisions.end()));
  grants_.assign(plan.may_test.begin(), plan.may_test.end());
  accepted_ = clock_.now().mono;
  is_busy_ = true;
  has_asked_ = false;
  go_on();
}

ExecutorStats Executor::stats() const {
  ExecutorStats stats = stats_;
  stats.events_dropped = events_.dropped();
  return stats;
}

void Executor::go_on() {
  Pace pace = Pace::go_on;
  while (pace == Pace::go_on)
    pace = is_leader_() ? advance() : Pace::idle;
  if (pace == Pace::idle) finish();
}

void Executor::finish() {
  stats_.dropped += waiting_.size() + (work_ ? 1 : 0);
  waiting_.clear();
  grants_.clear();
  work_.reset();
  is_busy_ = false;
  on_idle_(has_asked_);
}

Executor::Pace Executor::advance() {
  if (!work_) return next_decision();
  Work& work = *work_;
  const bool is_over = work.has_entry && work.entry.phase == Phase::over;
  if (work.must_write && !is_over) return write_entry();
  if (!work.has_failed && !work.actions.empty()) {
    // A new Event needs no write of the ledger by itself.
    if (work.is_noted && !is_over && work.actions.front().kind != ActionKind::event) return write_entry();
    return begin(work.actions.front());
  }
  if (!work.has_failed && is_at_rest(work.entry.phase)) forget_problem();
  if (work.is_noted && !is_over) return write_entry();
  if (is_over && work.must_write && !work.has_failed) return write_entry();
  work_.reset();
  return Pace::go_on;
}

Executor::Pace Executor::next_decision() {
  if (clock_.now().mono - accepted_ > kPatience) return Pace::idle;
  if (waiting_.empty()) return grant();
  work_ = std::make_unique<Work>(std::move(waiting_.front()));
  waiting_.pop_front();
  if (!work_->has_entry) return Pace::go_on;
  const kube::RemediationPlan* known = snapshot_.plan(work_->entry.name);
  if (known != nullptr && known->status) work_->problem = known->status->problem;
  return Pace::go_on;
}

Executor::Pace Executor::grant() {
  while (!grants_.empty()) {
    const kube::Node* node = snapshot_.node(grants_.front());
    grants_.pop_front();
    auto write = node == nullptr ? std::nullopt : grant_test(*node, marks_, clock_.now().wall);
    if (!write) continue;
    request(*std::move(write), Writes::node, [](const Answer&) { return Pace::go_on; });
    return Pace::request;
  }
  return Pace::idle;
}

void Executor::request(const Write& write, Writes what, Then then) {
  const std::string object = object_of(write);
  auto take = [this, object, what, then = std::move(then)](const Answer& answer) {
    if (!answer && is_unclear(answer.error()) && what != Writes::other) {
      read_again(object, what, then, answer);
      return;
    }
    if (answer) note(what, *answer);
    if (then(answer) == Pace::go_on) go_on();
  };
  has_asked_ = true;
  exchange_ = send(client_, write, std::move(take));
}

// The object shows whether the write was executed. No decision is possible before that is known.
void Executor::read_again(const std::string& path, Writes what, const Then& then, const Answer& answer) {
  if (!is_leader_()) return finish();
  // For a creation, the path is that of the list.
  const std::string object = what == Writes::new_plan ? path + '/' + work_->entry.name : path;
  exchange_ = client_.get({object, {}}, [this, path, what, then, answer](const Answer& found) {
    if (!found && found.error().verdict.outcome != kube::ApiOutcome::not_found) {
      const Duration wait = reread_.fail(kReadAgain, random_(), found.error().verdict.retry_after);
      pause_ = loop_.after(wait, [=, this] { read_again(path, what, then, answer); });
      return;
    }
    reread_.reset();
    if (found) note(what, *found);
    if (then(answer) == Pace::go_on) go_on();
  });
}

void Executor::note(Writes what, const std::string& json) {
  const auto read = kube::read_object(json, [&](const kube::JsonObject& object) {
    if (what == Writes::node) {
      kube::Node node = kube::parse_node(object);
      if (work_) work_->node_version = node.meta.version;
      snapshot_.note_written(std::move(node));
    } else if (what == Writes::report) {
      snapshot_.note_written(kube::parse_health_check_report(object));
    } else if (what != Writes::other) {
      kube::RemediationPlan plan = kube::parse_remediation_plan(object);
      if (work_ && work_->has_entry) work_->entry.version = plan.meta.version;
      snapshot_.note_written(std::move(plan), what == Writes::new_plan);
    }
  });
  if (!read)
    logging::log_warning("cannot parse a response of the API server", {{"cause", read.error().what}});
}

Executor::Pace Executor::write_entry() {
  Work& work = *work_;
  const std::string what = "plan " + work.entry.name;
  const bool may_write = may_try(what);
  if (may_write && work.entry.version.empty()) return create_entry();
  work.must_write = false;
  work.is_noted = false;
  if (!may_write) return give_up();
  const Write write{
      Write::Method::merge_patch,
      kube::remediation_plans_path(options_.name_space) + '/' + work.entry.name + std::string(kStatus),
      kube::plan_status_patch(plan_status(work.entry, work.problem), work.entry.version)};
  request(write, Writes::plan, [this, what](const Answer& answer) {
    if (!answer) return fail(what, answer.error());
    attempts_.succeeded(what);
    return Pace::go_on;
  });
  return Pace::request;
}

Executor::Pace Executor::create_entry() {
  const LedgerEntry& entry = work_->entry;
  const Write write{Write::Method::create, kube::remediation_plans_path(options_.name_space),
                    kube::remediation_plan_json(entry.name, plan_spec(entry))};
  request(write, Writes::new_plan, [this](const Answer& answer) { return take_created(answer); });
  return Pace::request;
}

// The status is written next.
Executor::Pace Executor::take_created(const Answer& answer) {
  const std::string& name = work_->entry.name;
  if (answer) return Pace::go_on;
  if (answer.error().verdict.outcome == kube::ApiOutcome::conflict) {
    const Write read{Write::Method::get, kube::remediation_plans_path(options_.name_space) + '/' + name, {}};
    request(read, Writes::new_plan, [this](const Answer& found) { return take_existing(found); });
    return Pace::request;
  }
  if (snapshot_.plan(name) != nullptr)
    return take_existing(answer);  // the server has created it although the response was lost
  return fail("plan " + name, answer.error());
}

// Another controller can have made more progress: the next plan continues.
Executor::Pace Executor::take_existing(const Answer& answer) {
  const kube::RemediationPlan* plan = snapshot_.plan(work_->entry.name);
  if (plan == nullptr) return answer ? give_up() : fail("plan " + work_->entry.name, answer.error());
  if (!plan->status) return Pace::go_on;
  work_->must_write = false;
  return give_up();
}

Executor::Pace Executor::begin(const PlannedAction& action) {
  if (action.is_recorded_only) {
    work_->actions.pop_front();
    return Pace::go_on;
  }
  if (!may_try(key_of(action))) return give_up();
  switch (action.kind) {
    case ActionKind::evict_pod:
    case ActionKind::delete_pod:
      return begin_on_pod(action);
    case ActionKind::request:
      return begin_request(action);
    case ActionKind::event:
      return begin_event(action);
    case ActionKind::mark_report:
      return begin_on_report(action);
    default:
      return begin_on_node(action);
  }
}

Executor::Pace Executor::begin_on_node(const PlannedAction& action) {
  const kube::Node* node = snapshot_.node(action.target.name);
  if (node == nullptr || node->meta.uid != action.target.uid) return give_up();
  const std::string& version = node->meta.version;
  // The object has changed since the decision.
  if (version != action.target.version && version != work_->node_version) return give_up();
  const auto step = node_step(action, *node, marks_, clock_.now().wall);
  if (!step) {
    logging::log_warning("step skipped", {{"plan", action.plan}, {"cause", step.error().what}});
    return give_up();
  }
  const std::optional<Write>& write = *step;
  if (!write) return done();
  request(*write, Writes::node, [this](const Answer& answer) { return take(answer); });
  return Pace::request;
}

// The removal is recorded first: after a crash, the count is too high by one at most, never too low.
Executor::Pace Executor::begin_on_pod(const PlannedAction& action) {
  if (work_->has_entry && work_->announced != action.target.uid) {
    work_->announced = action.target.uid;
    note_in_ledger(action);
    return Pace::go_on;
  }
  // A missing pod is the desired result.
  request(remove_pod_step(action), Writes::other,
          [this](const Answer& answer) { return take(answer, kube::ApiOutcome::not_found); });
  return Pace::request;
}

Executor::Pace Executor::begin_on_report(const PlannedAction& action) {
  const kube::HealthCheckReport* report = snapshot_.report(action.target.name);
  if (report == nullptr) return done();
  request(mark_report_step(action, *report, options_.name_space, clock_.now().wall), Writes::report,
          [this](const Answer& answer) { return take(answer, kube::ApiOutcome::not_found); });
  return Pace::request;
}

Executor::Pace Executor::begin_request(const PlannedAction& action) {
  const kube::RemediationPlan* plan = snapshot_.plan(action.plan);
  if (plan == nullptr) return give_up();
  const Node* node = snapshot_.world().node(action.target.name);
  // A request with that name is the same request.
  request(request_step(action, *plan, node, options_.name_space, clock_.now().wall), Writes::other,
          [this](const Answer& answer) { return take(answer, kube::ApiOutcome::conflict); });
  return Pace::request;
}

Executor::Pace Executor::begin_event(const PlannedAction& action) {
  // A failed Event is still in the queue.
  if (const std::string key = key_of(action); event_ != key) {
    events_.note(event_fact(action, options_.name_space), clock_.now());
    event_ = key;
    event_tries_ = 0;
  }
  return send_event();
}

Executor::Pace Executor::send_event() {
  const kube::EventWrite* event = events_.next();
  if (event == nullptr) {
    event_.clear();
    return done();
  }
  has_asked_ = true;
  exchange_ = kube::send_event(client_, *event, {"autopilot-controller", options_.host},
                               [this](const Answer& answer) {
                                 if (take_event(answer) == Pace::go_on) go_on();
                               });
  return Pace::request;
}

// An Event that cannot be written does not stop the following actions.
Executor::Pace Executor::take_event(const Answer& answer) {
  const kube::ApiVerdict verdict = answer ? kube::ApiVerdict{} : answer.error().verdict;
  if (verdict.next == kube::ApiNext::back_off || verdict.next == kube::ApiNext::refresh_credentials)
    return fail_action(answer.error());
  const bool is_new = events_.next()->kind == kube::EventWrite::Kind::create;
  const bool has_another_way =
      verdict.outcome == (is_new ? kube::ApiOutcome::conflict : kube::ApiOutcome::not_found);
  if (answer)
    events_.written();
  else if (has_another_way && ++event_tries_ < kEventTries)
    events_.refused(verdict.outcome);
  else
    events_.drop();
  return Pace::go_on;  // continues with the rest of the queue
}

Executor::Pace Executor::take(const Answer& answer, kube::ApiOutcome also_done) {
  if (answer || answer.error().verdict.outcome == also_done) return done();
  return fail_action(answer.error());
}

Executor::Pace Executor::done() {
  Work& work = *work_;
  const PlannedAction action = std::move(work.actions.front());
  work.actions.pop_front();
  if (attempts_.succeeded(key_of(action))) forget_problem();
  ++stats_.done[action.kind];
  log_done(action, options_.host);
  if (work.has_entry && is_noted(action.kind) && !is_removal(action.kind)) note_in_ledger(action);
  return Pace::go_on;
}

void Executor::forget_problem() {
  if (work_->problem.empty()) return;
  work_->problem.clear();
  work_->is_noted = true;
}

void Executor::note_in_ledger(const PlannedAction& action) {
  LedgerEntry& entry = work_->entry;
  entry.updated = clock_.now().wall;
  note_done(entry, {.kind = action.kind,
                    .target = action.target_key(),
                    .at = entry.updated,
                    .is_counted = action.is_counted});
  work_->is_noted = true;
}

Executor::Pace Executor::give_up() {
  work_->has_failed = true;
  return Pace::go_on;
}

Executor::Pace Executor::fail_action(const kube::ApiError& why) {
  const PlannedAction& action = work_->actions.front();
  if (work_->has_entry && work_->problem != why.error.what) {
    work_->problem = why.error.what;
    work_->is_noted = true;
  }
  return fail(key_of(action), why);
}

Executor::Pace Executor::fail(const std::string& what, const kube::ApiError& why) {
  ++stats_.failed;
  attempts_.failed(what, clock_.now().mono, why.verdict.retry_after);
  logging::log_warning("a step of a plan failed and is retried", {{"step", what}, {"cause", why.error.what}});
  return give_up();
}

std::string Executor::key_of(const PlannedAction& action) {
  return std::string(to_string(action.kind)) + ' ' + action.target_key() +
         (action.plan.empty() ? "" : " of plan " + action.plan);
}

bool Executor::may_try(const std::string& what) const {
  return attempts_.may_try(what, clock_.now().mono);
}

}  // namespace autopilot::controller
