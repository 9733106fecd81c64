// SPDX-License-Identifier: Apache-2.0
#include "learning/report/lemon_list.hpp"

#include <algorithm>
#include <map>
#include <ranges>
#include <utility>

namespace autopilot::learning {
namespace {

constexpr auto kDay = std::chrono::days(1);

// The first record of the nodes, but at most LemonList::kMostDays before the end.
WallTime origin_of(const ReportRecords& records, WallTime until) {
  const WallTime earliest = until - static_cast<int>(LemonList::kMostDays) * kDay;
  WallTime first = until;
  for (const WallTime seen : records.first_seen | std::views::values)
    first = std::min(first, seen);
  return std::max(first, earliest);
}

// Own faults that begin before `until`; what ends later is open.
std::vector<Fault> faults_until(const ReportRecords& records, WallTime until) {
  std::vector<Fault> faults;
  for (const Fault& fault : records.faults) {
    if (!is_own_fault(fault) || fault.begin >= until) continue;
    faults.push_back(fault);
    if (fault.end && *fault.end > until) faults.back().end.reset();
  }
  return faults;
}

std::size_t nodes_until(const ReportRecords& records, WallTime until) {
  return static_cast<std::size_t>(
      std::ranges::count_if(records.first_seen, [&](const auto& seen) { return seen.second < until; }));
}

double rate_of(const FleetHistory& fleet, std::size_t& faults) {
  faults = 0;
  for (const NodeHistory& node : fleet.nodes)
    faults += node.episodes.size();
  return (kPriorFaultsOfKind + static_cast<double>(faults)) /
         (kPriorFaultsOfKind / kPriorFaultsPerDay + service_days(fleet, 0, fleet.end_day));
}

using CheckDays = std::map<std::string, double, std::less<>>;

// The day of the last validation that each node passed.
CheckDays last_passed(const ReportRecords& records, WallTime origin, WallTime until) {
  CheckDays days;
  for (const Validation& validation : records.validations) {
    if (validation.verdict != Verdict::passed || validation.end >= until) continue;
    const double day = day_of(validation.end, origin);
    const auto [held, is_new] = days.emplace(node_key(validation.place), day);
    if (!is_new) held->second = std::max(held->second, day);
  }
  return days;
}

LemonRow row_of(const NodeHistory& node, NodePlan plan, double day, WallTime origin) {
  LemonRow row;
  row.node = node.node;
  row.faults = begins_between(node, day - LemonList::kFaultDays, day);
  if (const auto returned = last_return(node, day)) {
    row.last_return = time_of(*returned, origin);
    if (day - *returned <= LemonList::kRecheckDays && !plan.rechecks.empty())
      row.next_recheck = time_of(plan.rechecks.front().due_day, origin);
  }
  if (plan.probation_until_day) row.probation_until = time_of(*plan.probation_until_day, origin);
  row.plan = std::move(plan);
  return row;
}

bool is_before(const LemonRow& a, const LemonRow& b) {
  if (a.plan.is_lemon != b.plan.is_lemon) return a.plan.is_lemon;
  if (a.plan.lemon.probability != b.plan.lemon.probability)
    return a.plan.lemon.probability > b.plan.lemon.probability;
  return a.node < b.node;
}

void add_rows(LemonList& list, const ReportRecords& records, const FleetHistory& fleet, WallTime origin,
              WallTime until) {
  ReturnPolicy policy;
  if (!list.knows_jobs) policy.lemon.fewest_jobs = 0;
  const CheckDays passed = last_passed(records, origin, until);
  std::vector<NodePlan> plans;
  for (const NodeHistory& node : fleet.nodes) {
    const auto checked = passed.find(node.node);
    const auto last_check = checked == passed.end() ? std::nullopt : std::optional(checked->second);
    plans.push_back(plan_return(node, fleet.end_day, last_check, list.rate_of_kind, policy));
  }
  apply_lemon_budget(plans, list.nodes, policy);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    LemonRow row = row_of(fleet.nodes[i], std::move(plans[i]), fleet.end_day, origin);
    if (row.faults > 0 || row.is_restricted()) list.rows.push_back(std::move(row));
  }
  std::ranges::sort(list.rows, is_before);
}

}  // namespace

bool LemonRow::is_restricted() const {
  return plan.is_lemon || probation_until || next_recheck;
}

Result<LemonList> lemon_list(const ReportRecords& records, WallTime until) {
  LemonList list;
  const WallTime origin = origin_of(records, until);
  list.nodes = nodes_until(records, until);
  list.budget = lemon_budget(list.nodes);
  list.days = day_of(until, origin);
  list.rate_of_kind = kPriorFaultsPerDay;
  if (list.nodes == 0) return list;
  const std::vector<Fault> faults = faults_until(records, until);
  list.knows_jobs = std::ranges::any_of(faults, [](const Fault& fault) { return !fault.job.empty(); });
  const FleetHistory fleet =
      TRY(make_fleet_history(node_faults(faults, records.labels, origin), list.nodes, list.days));
  list.rate_of_kind = rate_of(fleet, list.faults);
  add_rows(list, records, fleet, origin, until);
  return list;
}

}  // namespace autopilot::learning
