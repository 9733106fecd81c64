// SPDX-License-Identifier: Apache-2.0
#include "controller/reconcilers/retention.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "controller/reconcilers/ledger_objects.hpp"
#include "telemetry/log.hpp"

namespace autopilot::controller {

namespace json = boost::json;

namespace {

Write deletion_of(const Kept& object) {
  const json::object preconditions{{"uid", object.meta.uid}, {"resourceVersion", object.meta.version}};
  return {Write::Method::remove, object.path,
          json::serialize(json::object{{"preconditions", preconditions}})};
}

Kept kept(const kube::RemediationPlan& plan, const std::string& name_space) {
  const LedgerEntry entry = entry_fact(plan);
  return {.path = kube::remediation_plans_path(name_space) + '/' + plan.meta.name,
          .meta = plan.meta,
          .changed = entry.updated,
          .has_ended = !is_open(entry.phase)};
}

// A report that nobody acted on ends by its age.
Kept kept(const kube::HealthCheckReport& report, const std::string& name_space) {
  return {.path = kube::health_check_reports_path(name_space) + '/' + report.meta.name,
          .meta = report.meta,
          .changed = report.time.value_or(WallTime{}),
          .has_ended = report.phase != kube::ReportPhase::pending};
}

}  // namespace

std::vector<Write> too_old(std::vector<Kept> objects, const RetentionLimits& limits, WallTime now) {
  std::ranges::sort(objects, {}, &Kept::changed);
  std::size_t left = objects.size();
  std::vector<Write> deletions;
  for (const Kept& object : objects) {
    const bool is_old = now - object.changed > limits.longest;
    if (!object.has_ended || (!is_old && left <= limits.most)) continue;
    deletions.push_back(deletion_of(object));
    --left;
  }
  return deletions;
}

Retention::Retention(net::EventLoop& loop, kube::Client& client, const Clock& clock, const Picture& picture,
                     std::string name_space, std::function<bool()> is_leader, RetentionLimits limits)
    : loop_(loop),
      client_(client),
      clock_(clock),
      picture_(picture),
      space_(std::move(name_space)),
      is_leader_(std::move(is_leader)),
      limits_(limits) {}

void Retention::start() {
  next_ = loop_.every(kEvery, [this] { look(); });
}

void Retention::look() {
  if (!waiting_.empty()) return;
  std::vector<Kept> plans;
  for (const auto& [key, plan] : picture_.plans())
    plans.push_back(kept(plan, space_));
  std::vector<Kept> reports;
  for (const auto& [key, report] : picture_.reports())
    reports.push_back(kept(report, space_));
  const WallTime now = clock_.now().wall;
  for (auto* objects : {&plans, &reports})
    for (Write& deletion : too_old(std::move(*objects), limits_, now))
      if (waiting_.size() < kMostAtOnce) waiting_.push_back(std::move(deletion));
  go_on();
}

void Retention::go_on() {
  if (waiting_.empty()) return;
  // The picture may be of another time; what is not done now is done at the next.
  if (!is_leader_()) return waiting_.clear();
  exchange_ = send(client_, waiting_.front(), [this](const kube::ApiResult<std::string>& answer) {
    if (!answer && answer.error().verdict.outcome != kube::ApiOutcome::not_found)
      telemetry::log_warning("an old plan or report is not deleted", {{"cause", answer.error().error.what}});
    waiting_.pop_front();
    go_on();
  });
}

}  // namespace autopilot::controller
