// SPDX-License-Identifier: Apache-2.0
#include "controller/jobs/actions/actor.hpp"

#include <iterator>
#include <utility>

#include "controller/jobs/reports/job_report_fact.hpp"
#include "logging/log.hpp"

namespace autopilot::controller {
namespace {

constexpr std::string_view kPlanned = "planned";
constexpr std::string_view kWaiting = "waiting";
constexpr std::string_view kDone = "done";
constexpr std::string_view kFailed = "failed";
constexpr std::string_view kGivenUp = "given_up";

std::string about(const jobs::WantedAction& action) {
  return std::string(jobs::to_string(action.request.choice)) + " for finding " + action.finding.id +
         " of job " + action.finding.job;
}

std::string reason_of_end(const std::string& state) {
  if (state == kWaiting) return "JobActionWaits";
  if (state == kGivenUp) return "JobActionGivenUp";
  return state == kDone ? "JobActionDone" : "JobActionFailed";
}

// For a second half, what made it due.
const std::string& why_of(const jobs::WantedAction& action) {
  return action.why.empty() ? action.finding.summary : action.why;
}

}  // namespace

JobActor::JobActor(net::EventLoop& loop, kube::Client& client, const Clock& clock, JobWriteQueue& writes,
                   const JobActorOptions& options, std::function<bool()> is_leader,
                   std::function<const World*()> world,
                   std::function<void(const jobs::WantedAction& action)> on_acted)
    : loop_(loop),
      client_(client),
      clock_(clock),
      writes_(writes),
      options_(options),
      node_marks_(node_marks(options.prefix)),
      job_marks_(job_marks(options.prefix)),
      is_leader_(std::move(is_leader)),
      world_(std::move(world)),
      on_acted_(std::move(on_acted)) {}

void JobActor::act(jobs::WantedAction action, jobs::JobReport report) {
  if (waiting_.size() >= kMaxWaiting) {
    ++figures_.by_state["refused"];
    logging::log_warning("too many actions about jobs wait; this one is not carried out",
                         {{"action", about(action)}});
    return;
  }
  waiting_.push_back({.action = std::move(action),
                      .report = std::move(report),
                      .since = clock_.now().mono,
                      .path = {},
                      .owner = {},
                      .steps = {},
                      .record = {}});
  go_on();
}

void JobActor::go_on() {
  if (is_busy_ || waiting_.empty()) return;
  const World* world = world_();
  if (world != nullptr && world->is_complete) return begin(*world);
  if (clock_.now().mono - waiting_.front().since > kPatience) {
    is_busy_ = true;
    return end("refused", "the controller does not know the whole cluster");
  }
  wake_ = loop_.after(kLookAgain, [this] { go_on(); });
}

void JobActor::begin(const World& world) {
  is_busy_ = true;
  Work& work = waiting_.front();
  const JobObjects objects = find_job_objects(world, work.report);
  const std::string& space = objects.name_space.empty() ? options_.name_space : objects.name_space;
  work.path =
      kube::job_health_reports_path(space) + '/' + kube::job_health_report_name(work.report.state.job);
  if (objects.owner)
    work.owner = kube::EventObject{objects.owner->api_version, objects.owner->kind, objects.name_space,
                                   objects.owner->name, objects.owner->uid};
  JobActionPlan plan;
  if (work.action.part != jobs::ActionPart::given_up)
    plan = plan_action(work.action, world, objects, node_marks_, job_marks_);
  if (!plan.refusal.empty()) return end("refused", plan.refusal);
  work.record = {.choice = std::string(jobs::to_string(work.action.request.choice)),
                 .state = std::string(kPlanned),
                 .message = why_of(work.action),
                 .steps = {},
                 .time = clock_.now().wall};
  for (const JobStep& step : plan.steps)
    work.record.steps.push_back(step.text);
  work.steps.assign(std::move_iterator(plan.steps.begin()), std::move_iterator(plan.steps.end()));
  look_for_record();
}

bool JobActor::may_go_on() {
  if (is_leader_()) return true;
  waiting_.clear();
  is_busy_ = false;
  return false;
}

void JobActor::look_for_record() {
  if (!may_go_on()) return;
  exchange_ = client_.get({waiting_.front().path, {}}, [this](const Reply& reply) { take_record(reply); });
}

void JobActor::take_record(const Reply& reply) {
  if (!reply && reply.error().verdict.outcome == kube::ApiOutcome::not_found) return create_report();
  if (!reply) return fail("its record cannot be read: " + reply.error().error.what);
  const auto report = kube::parse_job_health_report(*reply);
  if (!report) return fail("its record cannot be read: " + report.error().what);
  const Work& work = waiting_.front();
  const auto found = report->actions.find(work.action.finding.id);
  const kube::ReportedJobAction* known = found == report->actions.end() ? nullptr : &found->second;
  if (!may_begin(known)) return skip_recorded(known);
  if (work.action.part == jobs::ActionPart::given_up)
    return end(std::string(kGivenUp),
               work.action.why + "; the node stays held while the finding is open, and its pods stay");
  write_record([this](const Reply& written) {
    if (!written) return fail("it cannot be recorded: " + written.error().error.what);
    begin_steps();
  });
}

bool JobActor::may_begin(const kube::ReportedJobAction* known) const {
  const Work& work = waiting_.front();
  const bool is_recorded = known != nullptr && known->choice == work.record.choice;
  if (work.action.part == jobs::ActionPart::whole) return !is_recorded;
  return is_recorded && known->state == kWaiting;
}

void JobActor::begin_steps() {
  const jobs::WantedAction& action = waiting_.front().action;
  tell("JobActionBegins", about(action) + ": " + why_of(action), false);
  next_step();
}

void JobActor::skip_recorded(const kube::ReportedJobAction* known) {
  ++figures_.by_state["repeated"];
  if (known != nullptr && known->state == kPlanned)
    tell("JobActionUnclear",
         about(waiting_.front().action) +
             " was begun before and has no recorded end; it is not repeated. Look at the job",
         true);
  finish();
}

void JobActor::create_report() {
  if (!may_go_on()) return;
  const Work& work = waiting_.front();
  const std::string list = work.path.substr(0, work.path.rfind('/'));
  const std::string name = work.path.substr(list.size() + 1);
  exchange_ = client_.create(
      {list, {}}, kube::job_health_report_json(name, job_report_fact(work.report, clock_.now().wall)),
      [this](const Reply& reply) {
        const bool is_there = !reply && reply.error().verdict.outcome == kube::ApiOutcome::conflict;
        if (!reply && !is_there) return fail("it cannot be recorded: " + reply.error().error.what);
        look_for_record();
      });
}

void JobActor::write_record(const std::function<void(const Reply&)>& then) {
  if (!may_go_on()) return;
  const Work& work = waiting_.front();
  exchange_ = client_.patch({work.path, {}}, kube::Patch::merge,
                            kube::job_action_patch(work.action.finding.id, work.record), then);
}

void JobActor::next_step() {
  if (!may_go_on()) return;
  Work& work = waiting_.front();
  if (work.steps.empty())
    return waits_for_checkpoint(work.action)
               ? end(std::string(kWaiting), "the pods of the node move after the next checkpoint")
               : end(std::string(kDone), why_of(work.action));
  const JobStep step = std::move(work.steps.front());
  work.steps.pop_front();
  exchange_ = send(client_, step.write, [this, step](const Reply& reply) {
    if (step.from_current)
      take_current(step, reply);
    else
      take_step(step, reply);
  });
}

void JobActor::take_current(const JobStep& step, const Reply& reply) {
  const bool is_missing = !reply && reply.error().verdict.outcome == kube::ApiOutcome::not_found;
  if (!reply && !is_missing) return fail(step.text + ": " + reply.error().error.what);
  const Result<Write> write = step.from_current(is_missing ? std::string() : *reply);
  if (!write) return fail(step.text + ": " + write.error().what);
  if (!may_go_on()) return;
  exchange_ = send(client_, *write, [this, step](const Reply& answer) { take_step(step, answer); });
}

// A pod that does not exist any more needs no step.
void JobActor::take_step(const JobStep& step, const Reply& reply) {
  const bool is_of_pod = step.kind == JobStepKind::evict_pod || step.kind == JobStepKind::request_checkpoint;
  const bool is_gone = !reply && is_of_pod && reply.error().verdict.outcome == kube::ApiOutcome::not_found;
  if (!reply && !is_gone) return fail(step.text + ": " + reply.error().error.what);
  logging::log_info("done", {{"action", about(waiting_.front().action)}, {"step", step.text}});
  next_step();
}

void JobActor::fail(const std::string& why) {
  end(std::string(kFailed), why + "; it is not repeated");
}

void JobActor::end(const std::string& state, const std::string& message) {
  ++figures_.by_state[state];
  Work& work = waiting_.front();
  const bool is_done = state == kDone || state == kWaiting;
  if (!is_done)
    logging::log_warning("an action about a job was not carried out",
                         {{"action", about(work.action)}, {"state", state}, {"cause", message}});
  tell(reason_of_end(state), about(work.action) + ": " + message, !is_done);
  if (is_done) on_acted_(work.action);
  const bool is_recorded = !work.record.state.empty();
  if (!is_recorded) return finish();
  work.record.state = state;
  work.record.message = message;
  work.record.time = clock_.now().wall;
  write_record([this](const Reply& reply) {
    if (!reply)
      logging::log_warning("the end of an action about a job cannot be recorded",
                           {{"cause", reply.error().error.what}});
    finish();
  });
}

void JobActor::finish() {
  waiting_.pop_front();
  is_busy_ = false;
  wake_ = loop_.after(Duration{0}, [this] { go_on(); });
}

void JobActor::tell(const std::string& reason, const std::string& message, bool is_warning) {
  const Work& work = waiting_.front();
  if (!work.owner) return;
  writes_.note({.object = *work.owner,
                .type = is_warning ? kube::EventType::warning : kube::EventType::normal,
                .reason = reason,
                .message = message});
}

}  // namespace autopilot::controller
