// SPDX-License-Identifier: Apache-2.0
#include "cli/kubectl/plan.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/cli.hpp"
#include "cli/kubectl/cluster.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/phrases.hpp"
#include "cli/output/print.hpp"
#include "cli/verbs.hpp"
#include "core/health.hpp"
#include "host/clock/system_clock.hpp"

namespace autopilot::cli {

namespace {

constexpr std::size_t kPlansInAPage = 500;

struct PlanOptions {
  std::string node;
  std::string name_space = "autopilot";
  bool wants_all = false;
  OutputFormat format = OutputFormat::table;
};

Result<std::vector<kube::RemediationPlan>> read_plans(ClusterReader& cluster, const PlanOptions& own) {
  std::vector<kube::RemediationPlan> plans;
  TRY_STATUS(
      cluster.list({kube::remediation_plans_path(own.name_space), {}}, kPlansInAPage,
                   {"list remediationplans.autopilot.ibm.com in the namespace " + own.name_space,
                    "the cluster does not know the kind RemediationPlan: kubectl apply --server-side -f "
                    "deploy/helm/autopilot/crds/"},
                   [&](const kube::JsonObject& object) {
                     auto plan = kube::parse_remediation_plan(object);
                     const bool is_asked_for = own.node.empty() || plan.spec.node == own.node;
                     if (is_asked_for && (own.wants_all || is_current(plan)))
                       plans.push_back(std::move(plan));
                   }));
  sort_newest_first(plans);
  return plans;
}

std::string text_of(const std::vector<kube::RemediationPlan>& plans, const PlanOptions& own) {
  const WallTime now = host::SystemClock{}.now().wall;
  if (own.node.empty()) return render_plans(plans, now, terminal_style());
  std::string text;
  for (const auto& plan : plans)
    text += (text.empty() ? "" : "\n") + render_plan(plan, now, terminal_style());
  return text;
}

int show(const ClusterOptions& options, const PlanOptions& own) {
  const auto cluster = ClusterReader::open(options);
  if (!cluster) return report(cluster.error());
  const auto plans = read_plans(**cluster, own);
  if (!plans) return report(plans.error());
  if (own.format != OutputFormat::table)
    print_json(kube::plans_json(*plans), own.format);
  else if (plans->empty())
    std::cout << "No plan" << (own.node.empty() ? "" : " of node " + own.node) << ": nothing is held"
              << (own.wants_all ? "" : "; show finished plans with --all") << ".\n";
  else
    std::cout << text_of(*plans, own);
  return kExitHealthy;
}

}  // namespace

void add_plan(CLI::App& app, ClusterOptions& cluster, int& exit_code) {
  auto options = std::make_shared<PlanOptions>();
  auto* verb = app.add_subcommand("plan", "Show the remediation plans of a cluster, with their causes");
  add_node_argument(*verb, options->node, "Show all details of the plans of this node");
  verb->add_flag("--all", options->wants_all, "Include finished plans");
  add_format_option(*verb, options->format);
  add_namespace_option(*verb, options->name_space);
  add_cluster_options(*verb, cluster);
  verb->footer(
      "A recorded plan (dry run) shows the actions that another mode would take.\n"
      "Examples:\n  autopilot plan\n  autopilot plan gpu-7\n"
      "  autopilot plan --all -o json | jq -r '.items[] | select(.holds).node'");
  verb->callback([&cluster, options, &exit_code] { exit_code = show(cluster, *options); });
}

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

bool is_current(const kube::RemediationPlan& plan) {
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
