// SPDX-License-Identifier: Apache-2.0
#include "controller/jobs/memory/recall.hpp"

#include <algorithm>
#include <utility>

#include "api/job_words.hpp"
#include "controller/jobs/memory/job_memory.hpp"
#include "kube/objects.hpp"
#include "logging/log.hpp"

namespace autopilot::controller {
namespace {

constexpr const char* kRecallPage = "100";  // objects of one page
constexpr Duration kRecalledDay = std::chrono::hours{24};

std::optional<jobs::Choice> choice_of(std::string_view word) {
  using enum jobs::Choice;
  for (const jobs::Choice choice : {swap_at_checkpoint, stop_now, restart_in_place})
    if (jobs::to_string(choice) == word) return choice;
  return std::nullopt;
}

// The leader ended after it had recorded the action and before it stored that it was done.
void add_recorded_actions(const kube::JobHealthReport& stored, jobs::JobReport& report, WallTime now) {
  for (const auto& [finding, action] : stored.actions) {
    const bool has_begun = action.state == "planned" || action.state == "waiting" || action.state == "done";
    const auto choice = choice_of(action.choice);
    const bool is_known =
        std::ranges::find(report.done, finding, &jobs::DoneAction::finding) != report.done.end();
    if (!has_begun || !choice || !action.time || is_known || now - *action.time > kRecalledDay ||
        report.done.size() >= jobs::JobReport::kMaxDone)
      continue;
    jobs::DoneAction done{.time = std::min(*action.time, now), .finding = finding, .choice = *choice};
    done.waits = action.state == "waiting";
    const auto about = std::ranges::find(report.findings, finding, &jobs::JobFinding::id);
    if (about != report.findings.end()) {
      done.culprit = about->culprit;
      done.cause = about->cause;
    }
    report.done.push_back(std::move(done));
  }
}

bool is_of_its_job(const kube::JobHealthReport& stored, std::string_view name_space) {
  if (stored.job.empty() || stored.meta.name != kube::job_health_report_name(stored.job)) return false;
  return stored.meta.name_space == name_space || stored.job.starts_with(stored.meta.name_space + '/');
}

}  // namespace

Result<RecalledJob> recall_job(const kube::JobHealthReport& stored, std::string_view name_space,
                               WallTime now) {
  if (!is_of_its_job(stored, name_space)) return fail(Errc::denied, "its name is not that of its job");
  RecalledJob recalled;
  if (!stored.memory.empty()) {
    auto report = parse_job_memory(stored.memory, stored.job, now);
    if (report)
      recalled.report = *std::move(report);
    else
      recalled.problem = report.error().what;
  }
  jobs::JobReport& report = recalled.report;
  report.state.job = stored.job;
  report.state.name = stored.name;
  report.state.attempt = static_cast<int>(std::clamp<std::int64_t>(stored.attempt, 1, 1'000'000));
  report.owner = stored.owner;
  report.nodes = stored.nodes;
  report.started = std::min(stored.started.value_or(WallTime{}), now);
  report.ended = stored.ended;
  add_recorded_actions(stored, report, now);
  return recalled;
}

JobRecall::JobRecall(net::EventLoop& loop, kube::Client& client, const Clock& clock, std::string name_space)
    : loop_(loop), client_(client), clock_(clock), name_space_(std::move(name_space)) {}

void JobRecall::start(OnRecalled on_recalled) {
  on_recalled_ = std::move(on_recalled);
  since_ = clock_.now().mono;
  read({});
}

void JobRecall::read(const std::string& page) {
  if (page.empty()) jobs_.clear();
  kube::ApiPath path{kube::job_health_reports_path({}), {{"limit", kRecallPage}}};
  if (!page.empty()) path.query["continue"] = page;
  exchange_ =
      client_.get(std::move(path), [this](const kube::ApiResult<std::string>& answer) { take(answer); });
}

void JobRecall::take(const kube::ApiResult<std::string>& answer) {
  if (!answer) {
    const kube::ApiOutcome outcome = answer.error().verdict.outcome;
    const bool is_final = outcome == kube::ApiOutcome::not_found || outcome == kube::ApiOutcome::forbidden;
    if (!is_final && clock_.now().mono - since_ < kPatience) {
      again_ = loop_.after(kAgain, [this] { read({}); });
      return;
    }
    logging::log_warning(
        "findings, mutes and acknowledgements of the last leader cannot be read; they begin anew",
        {{"cause", answer.error().error.what}});
    return finish();
  }
  const auto next = kube::read_list_page(
      *answer, [this](const kube::JsonObject& object) { add(kube::parse_job_health_report(object)); });
  if (!next)
    logging::log_warning("a list of job reports cannot be read; their findings and mutes begin anew",
                         {{"cause", next.error().what}});
  if (next && !next->empty()) return read(*next);
  finish();
}

void JobRecall::add(const kube::JobHealthReport& stored) {
  auto recalled = recall_job(stored, name_space_, clock_.now().wall);
  if (!recalled) return note_problem(stored, recalled.error().what);
  if (!recalled->problem.empty()) note_problem(stored, recalled->problem);
  const bool has_memory = !stored.memory.empty() && recalled->problem.empty();
  const bool is_empty = !has_memory && recalled->report.done.empty();
  if (is_empty || (jobs_.size() >= kMaxJobs && !jobs_.contains(stored.job))) return;
  Known& known = jobs_[stored.job];
  if (known.updated && stored.updated && *known.updated > *stored.updated) return;
  known = {stored.updated, std::move(recalled->report)};
}

void JobRecall::note_problem(const kube::JobHealthReport& stored, const std::string& why) {
  if (++problems_ > kMaxLogged) return;
  logging::log_warning("the stored state of a job is ignored",
                       {{"report", stored.meta.name_space + '/' + stored.meta.name}, {"cause", why}});
}

void JobRecall::finish() {
  if (problems_ > kMaxLogged)
    logging::log_warning("the stored state of more jobs is ignored",
                         {{"jobs", std::to_string(problems_ - kMaxLogged)}});
  std::vector<jobs::JobReport> reports;
  for (auto& [job, known] : std::exchange(jobs_, {}))
    reports.push_back(std::move(known.report));
  std::exchange(on_recalled_, {})(std::move(reports));
}

}  // namespace autopilot::controller
