// SPDX-License-Identifier: Apache-2.0
#include "postflight/plan.hpp"

#include <utility>

#include "postflight/pair_run.hpp"

namespace autopilot::postflight {
namespace {

using learning::Depth;
using learning::JobOutcome;

bool is_suspicious(const JobFacts& job) {
  return job.suspects_node || failed_without_cause(job);
}

std::string count_of_gpus(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " GPU" : " GPUs");
}

// Why no diagnostic is due, independent of the users of the GPUs; empty: diagnostics are due.
std::string why_only_passive(const PlanInput& input) {
  if (input.allowed != Allowed::quick) return "`validation.on_job_end` allows passive checks only";
  if (input.held.empty() && input.is_driver_silent) return "NVIDIA's driver does not answer";
  if (input.held.empty()) return "the job held no GPU that the driver lists";
  if (input.quick.empty() && input.deep.empty()) return "this machine offers no diagnostic of GPUs";
  const bool is_fresh = input.last_pass && *input.last_pass < kFreshPass;
  if (is_fresh && !is_suspicious(input.job))
    return "its GPUs passed the quick diagnostics " + format_duration(*input.last_pass) +
           " ago, and nothing is suspected";
  return {};
}

std::string why_deep(const JobFacts& job) {
  if (job.suspects_node) return "in-flight monitoring suspected this node";
  return "the job failed without a known cause";
}

// Without permission to load the nodes, or without their agents, an operator starts it.
std::string pair_wish(const PlanInput& input) {
  if (input.allowed == Allowed::quick && awaits_pair_test(input.job, input.node))
    return "; the network was suspected, so " + input.job.pair_nodes.front() +
           " starts a test between the nodes of the job";
  return "; the network was suspected, so a test between nodes is due: autopilot test network.bandwidth";
}

void plan_pair_test(const PlanInput& input, Plan& plan) {
  plan.wants_pair_test = input.job.suspects_network;
  if (!plan.wants_pair_test) return;
  const bool may_start = input.allowed == Allowed::quick && !input.pair_check.empty();
  if (!may_start || !starts_pair_test(input.job, input.node)) {
    plan.reason += pair_wish(input);
    return;
  }
  const std::string busy = input.held.empty() ? std::string() : input.busy;
  const std::string& why_not = input.wanted_by.empty() ? busy : input.wanted_by;
  if (!why_not.empty()) {
    plan.yields = true;
    plan.reason += "; the network was suspected, and its test waits, because " + why_not;
    return;
  }
  plan.pair_check = input.pair_check;
  plan.pair_nodes = input.job.pair_nodes;
  plan.deadline = input.most;
  if (plan.depth == Depth::passive) plan.depth = Depth::pair;
  plan.reason += "; a test between the nodes of the job, because the network was suspected";
}

Plan yield_now(Plan plan, const std::string& cause) {
  plan.yields = true;
  plan.reason = "passive checks only, because " + cause;
  return plan;
}

Plan plan_diagnostics(const PlanInput& input) {
  Plan plan;
  if (const std::string why = why_only_passive(input); !why.empty()) {
    plan.reason = "passive checks only, because " + why;
    return plan;
  }
  if (!input.wanted_by.empty()) return yield_now(std::move(plan), input.wanted_by);
  if (input.idle.empty())
    return yield_now(std::move(plan), input.busy.empty() ? "no GPU of the job is idle" : input.busy);
  plan.gpus = input.idle;
  plan.diagnostics = input.quick;
  plan.deadline = input.most;
  const bool is_deep = is_suspicious(input.job) && !input.deep.empty();
  plan.depth = is_deep ? Depth::deep : Depth::quick;
  plan.reason = (is_deep ? "deeper diagnostics of " : "quick diagnostics of ") +
                count_of_gpus(plan.gpus.size()) + ", because " +
                (is_deep ? why_deep(input.job) : "the job ended and its GPUs are idle");
  if (is_deep) plan.diagnostics.insert(plan.diagnostics.end(), input.deep.begin(), input.deep.end());
  if (input.idle.size() < input.held.size()) {
    plan.yields = true;
    plan.reason += "; not tested: " + count_of_gpus(input.held.size() - input.idle.size()) +
                   (input.busy.empty() ? "" : ", because " + input.busy);
  }
  return plan;
}

}  // namespace

bool failed_without_cause(const JobFacts& job) {
  return job.outcome == JobOutcome::failed && (job.failure.empty() || job.failure == "unclear");
}

Plan plan_validation(const PlanInput& input) {
  Plan plan = plan_diagnostics(input);
  plan_pair_test(input, plan);
  return plan;
}

bool is_more_urgent(const JobFacts& a, const JobFacts& b) {
  return a.outcome == JobOutcome::failed && b.outcome != JobOutcome::failed;
}

}  // namespace autopilot::postflight
