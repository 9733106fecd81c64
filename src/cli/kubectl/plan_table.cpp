// SPDX-License-Identifier: Apache-2.0
#include "cli/kubectl/plan_table.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>

#include "cli/output/age.hpp"
#include "cli/output/columns.hpp"
#include "cli/output/paint.hpp"
#include "core/health.hpp"

namespace autopilot::cli {
namespace {

std::string phase_of(const kube::RemediationPlan& plan) {
  return plan.status ? plan.status->phase : "waiting";
}

std::string_view color_of(const kube::RemediationPlan& plan) {
  const bool holds = plan.status && plan.status->holds;
  return holds ? cli::color_of(Health::degraded) : std::string_view();
}

// A step that fails is the most important information.
std::string message_of(const kube::RemediationPlan& plan) {
  if (!plan.status) return plan.spec.cause;
  return plan.status->problem.empty() ? plan.status->message : "not done yet: " + plan.status->problem;
}

std::string ago(const std::optional<WallTime>& time, WallTime now) {
  return time ? format_time(*time) + ", " + age_of(*time, now) + " ago" : std::string();
}

std::string done_text(const kube::PlanStep& step, WallTime now) {
  return step.action + " " + step.target + ", " + age_of(step.at, now) + " ago";
}

class Lines {
 public:
  explicit Lines(const TableStyle& style) : style_(style) {}
  void add(const std::string& name, const std::string& text) {
    if (!text.empty()) rows_.push_back({{name}, {text}});
  }
  void add(const std::string& name, const std::vector<std::string>& texts) {
    for (std::size_t i = 0; i < texts.size(); ++i)
      rows_.push_back({{i == 0 ? name : ""}, {texts[i]}});
  }
  std::string take(const std::string& title, const std::string& value) {
    return render_columns({title, value}, std::move(rows_), style_);
  }

 private:
  const TableStyle& style_;
  std::vector<Row> rows_;
};

}  // namespace

bool is_of_now(const kube::RemediationPlan& plan) {
  return phase_of(plan) != "over";
}

void sort_newest_first(std::vector<kube::RemediationPlan>& plans) {
  std::ranges::stable_sort(plans, std::greater(),
                           [](const kube::RemediationPlan& plan) { return plan.spec.created; });
}

std::string render_plans(std::span<const kube::RemediationPlan> plans, WallTime now,
                         const TableStyle& style) {
  std::vector<Row> rows;
  for (const kube::RemediationPlan& plan : plans)
    rows.push_back({{plan.spec.node},
                    {phase_of(plan), color_of(plan)},
                    {age_of(plan.spec.created, now)},
                    {plan.spec.cause},
                    {message_of(plan)}});
  return render_columns({"NODE", "PHASE", "AGE", "CAUSE", "MESSAGE"}, std::move(rows), style);
}

std::string render_plan(const kube::RemediationPlan& plan, WallTime now, const TableStyle& style) {
  const kube::PlanStatus status = plan.status.value_or(kube::PlanStatus{});
  Lines lines(style);
  lines.add("node", plan.spec.node);
  lines.add("phase", phase_of(plan));
  lines.add("message", status.message);
  lines.add("waiting for", status.brake);
  lines.add("not done yet", status.problem);
  lines.add("cause", plan.spec.cause);
  lines.add("evidence", joined(plan.status ? status.evidence : plan.spec.evidence));
  lines.add("failed diagnostics", joined(plan.status ? status.tests : plan.spec.tests));
  lines.add("pool", plan.spec.pool);
  lines.add("failure domain", plan.spec.domain);
  lines.add("budget", plan.status ? status.budget : plan.spec.budget);
  lines.add("spare", status.spare);
  lines.add("decided", ago(plan.spec.created, now));
  lines.add("held", ago(status.begun, now));
  lines.add("would be held", ago(status.would_hold, now));
  lines.add("returned", ago(status.returned, now));
  lines.add("steps", plan.status ? status.steps : plan.spec.steps);
  std::vector<std::string> done;
  for (const kube::PlanStep& step : status.done)
    done.push_back(done_text(step, now));
  lines.add("done", done);
  return lines.take("PLAN", plan.meta.name);
}

}  // namespace autopilot::cli
