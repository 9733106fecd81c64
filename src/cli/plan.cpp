// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/cli.hpp"
#include "cli/kubectl/cluster_options.hpp"
#include "cli/kubectl/cluster_reader.hpp"
#include "cli/kubectl/plan_table.hpp"
#include "cli/output/format.hpp"
#include "cli/output/terminal.hpp"
#include "cli/verbs.hpp"
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
                     if (is_asked_for && (own.wants_all || is_of_now(plan))) plans.push_back(std::move(plan));
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

}  // namespace autopilot::cli
