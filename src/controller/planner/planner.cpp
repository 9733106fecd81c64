// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <tuple>
#include <vector>

#include "controller/planner/breaker.hpp"
#include "controller/planner/draft.hpp"
#include "controller/planner/holds.hpp"
#include "controller/planner/notices.hpp"
#include "controller/planner/plan.hpp"
#include "controller/planner/probation.hpp"
#include "controller/planner/returns.hpp"
#include "controller/planner/testing.hpp"

namespace autopilot::controller {
namespace {

// Nodes that are to be held, if the budgets allow it: who of them comes first is decided when all are known.
using Candidates = std::vector<Draft>;

std::string fault_of_picture(const World& world, const Policy& policy, WallTime now) {
  if (!world.is_complete) return "not every kind of object of the cluster is known yet";
  if (now - world.as_of > policy.rules.stale_after)
    return "what is known of the cluster is older than " + format_duration(policy.rules.stale_after);
  return {};
}

// The one that its annotation names, wherever it got to; else the open one that has most to do, else the
// oldest.
const LedgerEntry* plan_of(const World& world, const Node& node) {
  if (node.held)
    if (const LedgerEntry* holder = world.entry(node.held->plan);
        holder != nullptr && holder->node == node.name)
      return holder;
  const LedgerEntry* best = nullptr;
  const auto rank = [](const LedgerEntry& entry) {
    return std::tuple(entry.phase == Phase::probation, entry.created, std::string_view(entry.name));
  };
  for (const std::string& name : world.plans_on(node.name)) {
    const LedgerEntry* entry = world.entry(name);
    if (entry == nullptr || !is_open(entry->phase)) continue;
    if (best == nullptr || rank(*entry) < rank(*best)) best = entry;
  }
  return best;
}

void end_entry(Deliberation& all, const Node& node, const LedgerEntry& entry, const char* why,
               ReportPhase reports) {
  Draft draft = draft_of(all, node, entry);
  end(all, draft, why, reports);
  commit(all, std::move(draft));
}

// Plans whose node is gone, or was made anew, or has another plan.
void end_others(Deliberation& all, const std::string& name, const Node* node, const LedgerEntry* own) {
  for (const std::string& plan : all.world.plans_on(name)) {
    const LedgerEntry* entry = all.world.entry(plan);
    if (entry == nullptr || !is_open(entry->phase) || entry == own) continue;
    const Node gone{
        .name = entry->node, .uid = entry->node_uid, .version = {}, .pool = entry->pool, .domain = {}};
    if (node == nullptr || entry->node_uid != node->uid)
      end_entry(all, gone, *entry, "the node is gone", ReportPhase::expired);
    else
      end_entry(all, *node, *entry, "the node has another plan", ReportPhase::acted);
  }
}

bool is_recorded(const World& world, const Node& node) {
  return std::ranges::any_of(world.plans_on(node.name), [&](const std::string& name) {
    const LedgerEntry* entry = world.entry(name);
    return entry != nullptr && entry->phase == Phase::recorded && is_evidence(*entry, node);
  });
}

// A plan of something new, where there is something.
std::optional<Draft> new_plan(const Deliberation& all, const Node& node, const LedgerEntry* probation) {
  Evidence evidence = evidence_of(all.world, all.rules_of(node), node, probation, all.now);
  if (!evidence.any()) return std::nullopt;
  const Mode mode = all.rules_of(node).mode;
  if (evidence.reports.empty() && mode != Mode::act && is_recorded(all.world, node)) return std::nullopt;
  return new_draft(all, node, std::move(evidence));
}

void follow_probation_or_fall_back(Deliberation& all, const Node& node, const LedgerEntry& entry,
                                   Candidates& candidates) {
  auto again = new_plan(all, node, &entry);
  if (again && acts_on(again->evidence, again->rules.mode)) {
    end_entry(all, node, entry, "the node was found bad again", ReportPhase::undone);
    candidates.push_back(std::move(*again));
    return;
  }
  follow_probation(all, node, entry);
  if (again) candidates.push_back(std::move(*again));
}

void follow(Deliberation& all, const Node& node, const LedgerEntry& entry, Candidates& candidates) {
  if (is_held_by(node, entry)) return follow_hold(all, node, entry);
  switch (entry.phase) {
    case Phase::waiting:
      candidates.push_back(draft_of(all, node, entry));
      return;
    case Phase::executing:
    case Phase::held:
      return follow_hold(all, node, entry);
    case Phase::undoing:
      return follow_return(all, node, entry);
    case Phase::probation:
      return follow_probation_or_fall_back(all, node, entry, candidates);
    case Phase::recorded:
    case Phase::over:
      return;
  }
}

void look_at(Deliberation& all, const std::string& name, Candidates& candidates) {
  ++all.plan.cost.nodes;
  const Node* node = all.world.node(name);
  const LedgerEntry* own = node == nullptr ? nullptr : plan_of(all.world, *node);
  if (own != nullptr && own->node_uid != node->uid) own = nullptr;
  end_others(all, name, node, own);
  if (node == nullptr) return;
  if (own != nullptr) return follow(all, *node, *own, candidates);
  if (node->probation) clear_probation(all, *node);
  if (auto made = new_plan(all, *node, nullptr)) candidates.push_back(std::move(*made));
}

// What a test has proven comes before what was only seen, and of these what is known longer.
void decide_all(Deliberation& all, Candidates& candidates) {
  std::vector<std::tuple<bool, WallTime, std::string, std::size_t>> order;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Evidence& evidence = candidates[i].evidence;
    order.emplace_back(evidence.reports.empty(), evidence.first(), candidates[i].node.name, i);
  }
  std::ranges::sort(order);
  for (const auto& place : order)
    decide(all, std::move(candidates[std::get<3>(place)]));
}

}  // namespace

Plan plan(const World& world, const Policy& policy, WallTime now) {
  if (std::string fault = fault_of_picture(world, policy, now); !fault.empty()) {
    Plan none;
    none.brake = std::move(fault);
    return none;
  }
  Deliberation all(world, policy, now);
  all.plan.breakers = tripped_breakers(world, policy, all.nodes);
  tell_of_reports(all);
  Candidates candidates;
  for (const std::string& name : world.of_concern())
    look_at(all, name, candidates);
  decide_all(all, candidates);
  grant_tests(all);
  all.plan.cost.plans = all.budget.plans_looked_at();
  return std::move(all.plan);
}

}  // namespace autopilot::controller
