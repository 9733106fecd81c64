// SPDX-License-Identifier: Apache-2.0
#include "learning/hazard/return_policy.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

namespace autopilot::learning {
namespace {

std::string fixed_number(double number, int digits) {
  std::array<char, 64> text{};
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed, digits);
  return error == std::errc{} ? std::string(text.data(), end) : "?";
}

std::string hours_text(double days) {
  constexpr double hours_of_day = 24;
  return fixed_number(days * hours_of_day, 0) + " h";
}

void plan_probation(NodePlan& plan, double returned, double day, const ReturnPolicy& policy) {
  if (day >= returned + policy.probation_days) return;
  plan.probation_until_day = returned + policy.probation_days;
  plan.largest_job_gpus = policy.largest_job_gpus;
  plan.reasons.push_back("The node returned to service " + hours_text(day - returned) + " ago; until " +
                         hours_text(policy.probation_days) +
                         " after the return it should get no job of more than " +
                         std::to_string(policy.largest_job_gpus) + " GPUs.");
}

void plan_rechecks(NodePlan& plan, double returned, std::optional<double> last_check_day,
                   const ReturnPolicy& policy) {
  for (const double after : policy.recheck_days) {
    const double due = returned + after;
    if (last_check_day && *last_check_day >= due) continue;
    plan.rechecks.push_back(
        {due, "A quick re-check is due " + hours_text(after) + " after the return to service."});
  }
}

std::string lemon_reason(const NodePlan& plan, double rate_of_kind, std::size_t jobs, const LemonRule& rule) {
  constexpr double percent = 100;
  return "The node is a lemon: with probability " + fixed_number(plan.lemon.probability * percent, 1) +
         " % it has more than " + fixed_number(rule.ratio, 0) + " times the faults of its kind (" +
         fixed_number(plan.lemon.faults_per_day / rate_of_kind, 1) + " times expected), and its faults hit " +
         std::to_string(jobs) + " jobs.";
}

// `node` is the key "cluster/node" if the cluster is known.
std::string hold_advice(const std::string& node) {
  return "It should get no job until a deep diagnostic has found the faulty part: hold it with kubectl "
         "cordon " +
         node.substr(node.find('/') + 1) + ", or drain it in your scheduler.";
}

std::string limit_advice(std::size_t budget, const ReturnPolicy& policy) {
  const std::string limit =
      "it should get no job of more than " + std::to_string(policy.largest_job_gpus) + " GPUs.";
  if (budget == 0) return "The fleet has too few nodes to hold a lemon, fewer than 20; " + limit;
  return "The budget of " + std::to_string(budget) + " lemons of the fleet is used up by worse nodes; " +
         limit;
}

}  // namespace

NodePlan plan_return(const NodeHistory& node, double day, std::optional<double> last_check_day,
                     double rate_of_kind, const ReturnPolicy& policy) {
  NodePlan plan;
  plan.node = node.node;
  plan.is_in_service = is_in_service(node, day);
  plan.lemon = lemon_score(node, day, rate_of_kind, policy.lemon);
  const std::size_t jobs = jobs_hit(node, day);
  plan.is_lemon = is_lemon(plan.lemon, jobs, policy.lemon);
  if (plan.is_lemon) plan.reasons.push_back(lemon_reason(plan, rate_of_kind, jobs, policy.lemon));
  if (!plan.is_in_service) return plan;
  if (const auto returned = last_return(node, day)) {
    plan_probation(plan, *returned, day, policy);
    plan_rechecks(plan, *returned, last_check_day, policy);
  }
  return plan;
}

std::size_t lemon_budget(std::size_t nodes) {
  constexpr std::size_t per_mille = 15;
  constexpr std::size_t smallest_fleet = 20;  // where one lemon is at most 5 %
  const std::size_t budget = nodes * per_mille / 1000;
  return budget == 0 && nodes >= smallest_fleet ? 1 : budget;
}

void apply_lemon_budget(std::vector<NodePlan>& plans, std::size_t nodes, const ReturnPolicy& policy) {
  std::vector<NodePlan*> lemons;
  for (NodePlan& plan : plans)
    if (plan.is_lemon && plan.is_in_service) lemons.push_back(&plan);
  std::ranges::stable_sort(lemons, [](const NodePlan* left, const NodePlan* right) {
    if (left->lemon.probability != right->lemon.probability)
      return left->lemon.probability > right->lemon.probability;
    return left->lemon.faults_per_day > right->lemon.faults_per_day;
  });
  const std::size_t budget = lemon_budget(nodes);
  for (std::size_t i = 0; i < lemons.size(); ++i) {
    NodePlan& plan = *lemons[i];
    plan.largest_job_gpus = i < budget ? 0 : policy.largest_job_gpus;
    plan.reasons.resize(1);  // that it is a lemon; the limit of a probation is replaced
    plan.reasons.push_back(i < budget ? hold_advice(plan.node) : limit_advice(budget, policy));
  }
}

double learned_probation_days(const HazardModel& model, double rate_of_kind) {
  constexpr double ratio = 10;
  constexpr double longest_days = 3;
  return days_above(model, ratio * rate_of_kind, longest_days);
}

}  // namespace autopilot::learning
