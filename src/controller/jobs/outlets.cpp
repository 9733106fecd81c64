// SPDX-License-Identifier: Apache-2.0
#include "controller/jobs/outlets.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <string_view>
#include <utility>

#include "controller/jobs/reports/job_report_fact.hpp"
#include "kube/job_health_reports.hpp"
#include "kube/objects.hpp"
#include "logging/log.hpp"

namespace autopilot::controller {

namespace json = boost::json;

namespace {

constexpr std::size_t kMaxEvents = 1024;  // alerts whose Events wait; the oldest are dropped
constexpr const char* kPage = "500";      // objects of one page of a list

std::string_view reason_of(jobs::Effect effect) {
  switch (effect) {
    case jobs::Effect::none:
      return "JobSuspect";
    case jobs::Effect::slow:
      return "JobSlow";
    case jobs::Effect::regression:
      return "JobRegression";
    case jobs::Effect::hang:
      return "JobHang";
    case jobs::Effect::crash:
      return "JobCrash";
  }
  return {};
}

// Whether they are about the same end of the same attempt.
bool is_same_failure(const jobs::Failure& one, const jobs::Failure& other) {
  return one.time == other.time && one.kind == other.kind && one.cause == other.cause;
}

bool is_long_over(const jobs::JobReport& report, WallTime now) {
  return report.ended && now - *report.ended > JobsOutlets::kRetention;
}

Write deletion_of(const kube::JobHealthReport& report) {
  const json::object preconditions{{"uid", report.meta.uid}, {"resourceVersion", report.meta.version}};
  return {Write::Method::remove,
          kube::job_health_reports_path(report.meta.name_space) + '/' + report.meta.name,
          json::serialize(json::object{{"preconditions", preconditions}})};
}

kube::EventObject event_object(const Pod& pod) {
  return {"v1", "Pod", pod.name_space, pod.name, pod.uid};
}

kube::EventObject event_object(const Node& node) {
  return {"v1", "Node", "", node.name, node.uid};
}

kube::EventObject event_object(const JobObjects& objects) {
  const Owner& owner = *objects.owner;
  return {owner.api_version, owner.kind, objects.name_space, owner.name, owner.uid};
}

// The last messages about open findings.
std::vector<jobs::Alert> open_alerts(const std::vector<jobs::JobReport>& reports) {
  std::vector<jobs::Alert> alerts;
  for (const jobs::JobReport& report : reports)
    for (const jobs::JobFinding& finding : report.findings) {
      const auto sent = report.sent.find(finding.id);
      if (finding.resolved || sent == report.sent.end() || sent->second.is_resolved) continue;
      alerts.push_back(jobs::make_alert(finding, report.state, jobs::AlertKind::changed, sent->second.last));
      alerts.back().severity = sent->second.severity;
    }
  return alerts;
}

}  // namespace

struct JobsOutlets::Shown {
  jobs::JobReport report{};
  std::optional<kube::JobHealthReport> written{};
  MonoTime written_at{};
  std::string health_mark{};
  std::optional<jobs::Failure> counted{};  // failure in the metric
  bool is_failure_due = false;             // its annotation, condition and Event
};

JobsOutlets::JobsOutlets(net::EventLoop& loop, kube::Client& client, const Clock& clock,
                         JobsOutletsOptions options, JobsOutletsDoors doors)
    : loop_(loop),
      client_(client),
      clock_(clock),
      options_(std::move(options)),
      doors_(std::move(doors)),
      node_marks_(node_marks(options_.prefix)),
      marks_(job_marks(options_.prefix)),
      sender_({loop, clock, doors_.read_file, doors_.run_blocking, doors_.dice}, options_.receivers),
      writes_(loop, client, clock, doors_.is_leader, doors_.dice, options_.host),
      recall_(loop, client, clock, options_.name_space),
      actor_(loop, client, clock, writes_, {.name_space = options_.name_space, .prefix = options_.prefix},
             doors_.is_leader, doors_.world, doors_.on_acted),
      retention_(loop.every(kRetention, [this] {
        forget_ended();
        look_for_outdated({});
      })) {}

JobsOutlets::~JobsOutlets() = default;

void JobsOutlets::recall(JobRecall::OnRecalled on_recalled) {
  recall_.start([this, on_recalled = std::move(on_recalled)](std::vector<jobs::JobReport> reports) {
    sender_.resume(open_alerts(reports), reports);
    on_recalled(std::move(reports));
  });
}

void JobsOutlets::publish(const std::vector<jobs::JobReport>& changed, const std::vector<jobs::Alert>& alerts,
                          const std::vector<jobs::WantedAction>& actions) {
  for (const jobs::JobReport& report : changed) {
    const std::string& job = report.state.job;
    if (!jobs_.contains(job) && jobs_.size() >= kMaxJobs) continue;
    const auto [known, is_new] = jobs_.try_emplace(job);
    Shown& shown = known->second;
    // A late validation of a job that was shown and forgotten.
    if (is_new && is_long_over(report, clock_.now().wall)) shown.counted = report.failure;
    note_failure(report, shown);
    shown.report = report;
    due_.insert(job);
  }
  sender_.send(alerts, changed);
  for (const jobs::Alert& alert : alerts) {
    if (events_.size() >= kMaxEvents) events_.pop_front();
    events_.push_back(alert);
  }
  for (const jobs::WantedAction& action : actions) {
    const auto known = jobs_.find(action.finding.job);
    if (known != jobs_.end()) actor_.act(action, known->second.report);
  }
  due_at_ = loop_.after(kSoon, [this] { write_due(); });
}

void JobsOutlets::note_failure(const jobs::JobReport& report, Shown& shown) {
  if (!report.failure || (shown.counted && is_same_failure(*shown.counted, *report.failure))) return;
  shown.counted = report.failure;
  shown.is_failure_due = true;
  ++failures_[report.failure->kind];
}

JobsFigures JobsOutlets::figures() const {
  return {.failures = failures_,
          .writes = writes_.figures(),
          .actions = actor_.figures().by_state,
          .receivers = sender_.figures()};
}

void JobsOutlets::write_due() {
  const World* world = doors_.world();
  if (!doors_.is_leader() || world == nullptr || !world->is_complete) {
    due_at_ = loop_.after(kLookAgain, [this] { write_due(); });
    return;
  }
  for (const std::string& job : std::exchange(due_, {})) {
    const auto known = jobs_.find(job);
    if (known != jobs_.end()) show(*world, known->second);
  }
  for (const jobs::Alert& alert : std::exchange(events_, {}))
    tell(*world, alert);
}

void JobsOutlets::show(const World& world, Shown& shown) {
  const JobObjects objects = find_job_objects(world, shown.report);
  show_report(objects, shown);
  show_owner(objects, shown);
  if (shown.is_failure_due) show_failure(objects, shown);
  withdraw(world, shown.report);
}

void JobsOutlets::show_report(const JobObjects& objects, Shown& shown) {
  const Instant now = clock_.now();
  kube::JobHealthReport fact = job_report_fact(shown.report, now.wall);
  const bool is_old = now.mono - shown.written_at >= kRefresh;
  if (shown.written && says_the_same(*shown.written, fact) && !is_old) return;
  const std::string list =
      kube::job_health_reports_path(objects.name_space.empty() ? options_.name_space : objects.name_space);
  const std::string name = kube::job_health_report_name(fact.job);
  writes_.add({.key = "report " + fact.job,
               .write = {Write::Method::merge_patch, list + '/' + name, kube::job_health_report_patch(fact)},
               .if_missing = Write{Write::Method::create, list, kube::job_health_report_json(name, fact)}});
  shown.written = std::move(fact);
  shown.written_at = now.mono;
}

void JobsOutlets::show_owner(const JobObjects& objects, Shown& shown) {
  std::string mark = job_health_mark(shown.report);
  if (!objects.owner || mark == shown.health_mark) return;
  annotate(objects, marks_.health, mark, shown.report.state.job);
  shown.health_mark = std::move(mark);
}

// An owner of a kind that we may not write has the mark on its pods.
void JobsOutlets::annotate(const JobObjects& objects, const std::string& name, const std::string& value,
                           const std::string& job) {
  const std::string patch = annotation_patch(name, value);
  if (objects.kind != nullptr) {
    writes_.add(
        {.key = name + " of " + job, .write = {Write::Method::merge_patch, owner_path(objects), patch}});
    return;
  }
  for (const Pod* pod : objects.pods)
    writes_.add(
        {.key = name + " of pod " + pod->uid, .write = {Write::Method::merge_patch, pod_path(*pod), patch}});
}

void JobsOutlets::show_failure(const JobObjects& objects, Shown& shown) {
  shown.is_failure_due = false;
  if (!objects.owner || !shown.report.failure) return;
  const jobs::Failure failure = *shown.report.failure;
  const std::string& job = shown.report.state.job;
  annotate(objects, marks_.failure, job_failure_mark(failure), job);
  writes_.note({.object = event_object(objects),
                .type = kube::EventType::warning,
                .reason = "JobFailure",
                .message = std::string(jobs::to_string(failure.kind)) + ": " + failure.sentence});
  if (objects.kind == nullptr || !objects.kind->has_conditions) return;
  const std::string path = owner_path(objects);
  writes_.add({.key = "condition of " + job,
               .write = {Write::Method::get, path, {}},
               .from_current = [path, failure, now = clock_.now().wall](
                                   const std::string& object) -> Result<std::optional<Write>> {
                 auto patch = TRY(failure_condition_patch(object, failure, now));
                 if (!patch) return std::optional<Write>();
                 return Write{Write::Method::merge_patch, path + "/status", *std::move(patch)};
               }});
}

// The finding is over: the node is no longer accused. A held node still needs the proof of a test.
void JobsOutlets::withdraw(const World& world, const jobs::JobReport& report) {
  for (const jobs::JobFinding& finding : report.findings) {
    if (!finding.resolved || !finding.culprit.is_accused()) continue;
    const Node* node = world.node(finding.culprit.node);
    if (node == nullptr) continue;
    const bool is_accused = std::ranges::any_of(node->causes, [&](const OpenCause& cause) {
      return cause.is_of_job && cause.incident == finding.id;
    });
    if (is_accused)
      writes_.add({.key = "accusation of " + node->name, .write = withdraw_accusation(*node, node_marks_)});
  }
}

void JobsOutlets::tell(const World& world, const jobs::Alert& alert) {
  const auto known = jobs_.find(alert.job);
  if (known == jobs_.end()) return;
  const jobs::JobReport& report = known->second.report;
  const auto finding = std::ranges::find(report.findings, alert.id, &jobs::JobFinding::id);
  const bool is_over = alert.kind == jobs::AlertKind::resolved;
  kube::EventFact fact;
  fact.type =
      is_over || alert.severity == jobs::Severity::info ? kube::EventType::normal : kube::EventType::warning;
  const jobs::Effect effect = finding == report.findings.end() ? jobs::Effect::none : finding->effect;
  fact.reason = is_over ? "JobRecovered" : reason_of(effect);
  fact.message = alert.title + " (finding " + alert.id + ")";
  const bool is_named = finding != report.findings.end() && finding->culprit.is_accused() &&
                        finding->culprit.kind != jobs::EntityKind::leaf;
  tell_objects(world, find_job_objects(world, report), is_named ? finding->culprit.node : std::string(),
               fact);
}

// On the owner, and with an accused node on it and the pods of the job there.
void JobsOutlets::tell_objects(const World& world, const JobObjects& objects, const std::string& node,
                               const kube::EventFact& like) {
  if (!objects.owner) return;
  kube::EventFact fact = like;
  fact.object = event_object(objects);
  writes_.note(fact);
  std::size_t pods = 0;
  for (const Pod* pod : objects.pods) {
    if (node.empty() || pod->node != node || ++pods > kMaxEventPods) continue;
    fact.object = event_object(*pod);
    writes_.note(fact);
  }
  const Node* accused = world.node(node);
  if (accused == nullptr || pods == 0) return;
  fact.object = event_object(*accused);
  writes_.note(fact);
}

void JobsOutlets::look_for_outdated(const std::string& page) {
  if (!doors_.is_leader()) return;
  kube::ApiPath path{kube::job_health_reports_path({}), {{"limit", kPage}}};
  if (!page.empty()) path.query["continue"] = page;
  exchange_ = client_.get(std::move(path),
                          [this](const kube::ApiResult<std::string>& answer) { take_outdated(answer); });
}

void JobsOutlets::take_outdated(const kube::ApiResult<std::string>& answer) {
  if (!answer) {
    logging::log_warning("cannot look for old reports of jobs", {{"cause", answer.error().error.what}});
    return;
  }
  const WallTime now = clock_.now().wall;
  const auto next = kube::read_list_page(*answer, [&](const kube::JsonObject& object) {
    const kube::JobHealthReport report = kube::parse_job_health_report(object);
    const bool is_in_use = jobs_.contains(report.job) && !report.ended;
    if (is_outdated(report, now) && !is_in_use)
      writes_.add({.key = "deletion of " + report.meta.name_space + '/' + report.meta.name,
                   .write = deletion_of(report)});
  });
  if (next && !next->empty()) look_for_outdated(*next);
}

void JobsOutlets::forget_ended() {
  const WallTime now = clock_.now().wall;
  std::erase_if(jobs_, [&](const auto& entry) {
    return is_long_over(entry.second.report, now) && !due_.contains(entry.first);
  });
}

}  // namespace autopilot::controller
