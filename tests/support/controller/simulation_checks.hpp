// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <deque>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/controller/simulated_cluster.hpp"

// Checks each action of the simulation against rules that must never be violated, independently of the tested
// code, with counts of its own.
namespace autopilot::controller::simulation {

// Counts of events: a simulation without any is not a success.
struct Tally {
  std::size_t plans = 0;
  std::size_t idle = 0;  // plans without a decision
  std::size_t nodes_looked_at = 0;
  std::size_t cordons = 0;
  std::size_t uncordons = 0;
  std::size_t moved_gated = 0;
  std::size_t moved_running = 0;
  std::size_t deep_tests = 0;
  std::size_t requests = 0;
  std::size_t recorded = 0;
  std::size_t breakers = 0;  // plans made while a breaker was tripped
  std::size_t refused = 0;   // writes
  std::size_t lost = 0;
  std::size_t deaths = 0;
  std::size_t grants = 0;
  std::size_t lemons = 0;                     // of the holds, for the history of the node
  std::map<std::string, std::size_t> brakes;  // waiting plans, by brake

  void operator+=(const Tally& other) {
    plans += other.plans, idle += other.idle, nodes_looked_at += other.nodes_looked_at;
    cordons += other.cordons, uncordons += other.uncordons;
    moved_gated += other.moved_gated, moved_running += other.moved_running;
    deep_tests += other.deep_tests, requests += other.requests;
    recorded += other.recorded, breakers += other.breakers, refused += other.refused;
    lemons += other.lemons, lost += other.lost, deaths += other.deaths, grants += other.grants;
    for (const auto& [brake, count] : other.brakes)
      brakes[brake] += count;
  }
};

class Checks {
 public:
  Checks(Cluster& cluster, const Policy& policy) : cluster_(cluster), policy_(policy) {}

  // Checks a write before it is sent, against the snapshot of its decision.
  void before(const PlannedAction& action, const LedgerEntry* entry, const World& seen);
  // The write was executed.
  void after(const PlannedAction& action, const World& seen);
  // Operators removed some of our marks.
  void forget_meddled();
  void of_grant(const Node& node, const World& seen);
  Tally& tally() { return tally_; }
  [[nodiscard]] std::size_t held() const { return ours_.size(); }

 private:
  using Times = std::deque<Seconds>;

  void expect(bool holds, const char* what, const PlannedAction& action) const {
    if (!holds)
      ADD_FAILURE() << "at " << format_time(cluster_.time()) << ": " << to_string(action.kind) << ' '
                    << action.target.name << " of plan " << action.plan << ": " << what;
  }
  [[nodiscard]] const Rules& rules_of(const Node& node) const { return policy_.of(node.pool); }
  [[nodiscard]] bool is_known(const Node& node) const;
  [[nodiscard]] bool is_burst(const Node& node, const World& seen) const;
  [[nodiscard]] static std::size_t within_hour(Times& times, Seconds now);
  void before_cordon(const PlannedAction& action, const LedgerEntry& entry, const Node& node,
                     const World& seen);
  void before_removal(const PlannedAction& action, const World& seen);
  void before_uncordon(const PlannedAction& action, const Node& node);
  void after_cordon(const PlannedAction& action, const Node& node);
  void after_lemon(const PlannedAction& action, const Node& node);
  void forget(const Node& node);

  Cluster& cluster_;
  const Policy& policy_;
  Tally tally_;
  std::map<std::string, std::string, std::less<>> ours_;  // nodes that we cordoned, with the plan
  std::set<std::string> lemon_plans_;
  std::map<std::string, std::size_t> held_in_pool_;
  std::map<std::string, std::size_t> held_in_domain_;
  std::map<std::string, Times> cordons_;
  std::map<std::string, Times> evictions_;
  std::set<std::string> evicted_;
  std::map<std::string, std::pair<Seconds, std::string>>
      stopped_;  // by job: time and node of the last removal
};

inline std::size_t Checks::within_hour(Times& times, Seconds now) {
  while (!times.empty() && now - times.front() >= kHour)
    times.pop_front();
  return times.size();
}

inline bool Checks::is_known(const Node& node) const {
  const Machine& machine = cluster_.machine(node.name);
  const auto stale = std::chrono::duration_cast<std::chrono::seconds>(rules_of(node).stale_after).count();
  const bool is_silent = machine.silent_since >= 0 && cluster_.now() - machine.silent_since > stale;
  return !is_silent && node.verdict && !node.is_unknown;
}

inline bool Checks::is_burst(const Node& node, const World& seen) const {
  const Rules& rules = rules_of(node);
  std::map<std::string, std::vector<WallTime>> by_cause;
  for (const std::string& name : seen.of_concern()) {
    const Node* other = seen.node(name);
    if (other == nullptr || other->pool != node.pool) continue;
    std::set<std::string> counted;
    for (const OpenCause& cause : other->causes)
      if (cause.is_passive && counted.insert(cause.cause).second)
        by_cause[cause.cause].push_back(cause.since);
  }
  const double share = static_cast<double>(seen.in_pool(node.pool).size()) * rules.breaker_percent / 100;
  for (auto& [cause, times] : by_cause)
    for (const WallTime first : times) {
      const auto count = std::ranges::count_if(
          times, [&](WallTime time) { return time >= first && time - first <= rules.breaker_window; });
      if (count >= rules.breaker_nodes && static_cast<double>(count) >= share) return true;
    }
  return false;
}

inline void Checks::before(const PlannedAction& action, const LedgerEntry* entry, const World& seen) {
  if (action.kind == ActionKind::event || action.kind == ActionKind::mark_report) return;
  if (action.kind == ActionKind::evict_pod || action.kind == ActionKind::delete_pod)
    return before_removal(action, seen);
  const Node* node = seen.node(action.target.name);
  ASSERT_NE(node, nullptr);
  ASSERT_NE(entry, nullptr);
  expect(rules_of(*node).mode != Mode::observe, "done in mode observe", action);
  expect(action.plan == entry->name && !action.why.empty(), "without plan or reason", action);
  switch (action.kind) {
    case ActionKind::cordon:
      return before_cordon(action, *entry, *node, seen);
    case ActionKind::uncordon:
      return before_uncordon(action, *node);
    case ActionKind::release:
      return expect(node->held && node->held->plan == action.plan && !node->is_unschedulable,
                    "released what is held", action);
    case ActionKind::deep_test:
    case ActionKind::request:
      expect(rules_of(*node).mode == Mode::act, "outside of mode act", action);
      return expect(is_known(*node), "of a node that nobody knows", action);
    default:
      return;
  }
}

inline void Checks::before_cordon(const PlannedAction& action, const LedgerEntry& entry, const Node& node,
                                  const World& seen) {
  expect(is_known(node), "of a node that nobody knows", action);
  expect(!node.is_unschedulable || (node.held && node.held->plan == action.plan), "of a foreign cordon",
         action);
  expect(!node.is_exempt, "of a node that is never to be held", action);
  expect(!is_burst(node, seen), "while the breaker has tripped", action);
  if (entry.cause == kLemonCause) {
    expect(rules_of(node).mode == Mode::act && rules_of(node).holds_lemons,
           "of a lemon that is only recorded", action);
    lemon_plans_.insert(entry.name);
  }
  const auto is_proof = [&](const std::string& name) {
    const Report* report = seen.report(name);
    return report != nullptr && report->outcome == Outcome::failed && report->node == node.name;
  };
  if (rules_of(node).mode == Mode::hold)
    expect(std::ranges::any_of(entry.evidence, is_proof), "without a failed test in mode hold", action);
}

inline void Checks::before_removal(const PlannedAction& action, const World& seen) {
  const Pod* pod = seen.pod(action.target.uid);
  if (pod == nullptr) return;
  const Node* node = seen.node(pod->node);
  ASSERT_NE(node, nullptr);
  expect(rules_of(*node).mode != Mode::observe, "done in mode observe", action);
  expect(pod->owner.has_value(), "of a pod that nobody would make again", action);
  if (!action.is_counted) {
    const auto is_about_it = [&](const std::string& name) {
      const Report* report = seen.report(name);
      return report != nullptr && report->pod_uid == pod->uid && report->outcome == Outcome::failed;
    };
    return expect(pod->is_gated && std::ranges::any_of(seen.reports_on(node->name), is_about_it),
                  "of a pod whose test has not failed", action);
  }
  expect(rules_of(*node).mode == Mode::act, "of a running pod outside of mode act", action);
  expect(is_known(*node), "off a node that nobody knows", action);
  expect(node->verdict == Verdict::evict && !node->causes.empty(), "off a node that is not EVICT", action);
  expect(node->is_unschedulable || ours_.contains(node->name), "off a node that takes new pods", action);
  expect(!is_burst(*node, seen), "while the breaker has tripped", action);
}

inline void Checks::before_uncordon(const PlannedAction& action, const Node& node) {
  const auto at = ours_.find(node.name);
  expect(at != ours_.end() && at->second == action.plan, "of a cordon that is not ours", action);
  expect(is_known(node), "of a node that nobody knows", action);
  const Machine& machine = cluster_.machine(node.name);
  // Newer evidence may not have arrived; older evidence has.
  expect(
      machine.proven >= 0 && (machine.proven > machine.bad_shown || cluster_.now() - machine.bad_shown <= 30),
      "without proof of health", action);
}

inline void Checks::after(const PlannedAction& action, const World& seen) {
  if (action.kind == ActionKind::evict_pod || action.kind == ActionKind::delete_pod) {
    const Pod* pod = seen.pod(action.target.uid);
    if (!action.is_counted) ++tally_.moved_gated;
    if (!action.is_counted || pod == nullptr || !evicted_.insert(action.target.uid).second) return;
    ++tally_.moved_running;
    const Node& node = *seen.node(pod->node);
    Times& times = evictions_[node.pool];
    times.push_back(cluster_.now());
    expect(std::cmp_less_equal(within_hour(times, cluster_.now()), rules_of(node).evictions_per_hour),
           "more evictions than the rate", action);
    auto& [stopped, off] = stopped_[pod->owner->uid];
    expect(off.empty() || off == node.name || cluster_.now() - stopped >= 6 * kHour,
           "of a job that lost another node", action);
    stopped_[pod->owner->uid] = {cluster_.now(), node.name};
    return;
  }
  const Node* node = cluster_.real().node(action.target.name);
  if (node == nullptr) return;
  switch (action.kind) {
    case ActionKind::cordon:
      return after_cordon(action, *node);
    case ActionKind::uncordon:
    case ActionKind::release:
      expect(ours_.contains(node->name), "of what is not ours", action);
      ++tally_.uncordons;
      return forget(*node);
    case ActionKind::deep_test:
      ++tally_.deep_tests;
      return;
    case ActionKind::request:
      ++tally_.requests;
      return;
    default:
      return;
  }
}

inline void Checks::forget(const Node& node) {
  if (ours_.erase(node.name) == 0) return;
  --held_in_pool_[node.pool];
  --held_in_domain_[node.domain];
}

inline void Checks::forget_meddled() {
  for (const std::string& name : cluster_.take_meddled())
    if (const Node& node = *cluster_.real().node(name); !node.held) forget(node);
}

inline void Checks::after_cordon(const PlannedAction& action, const Node& node) {
  expect(!cluster_.machine(node.name).is_foreign, "over a foreign cordon", action);
  if (!ours_.insert_or_assign(node.name, action.plan).second) return;
  ++tally_.cordons;
  const Rules& rules = rules_of(node);
  const auto share = [](std::size_t count, int percent) {
    return std::max<std::size_t>(1, count * static_cast<std::size_t>(percent) / 100);
  };
  if (lemon_plans_.contains(action.plan)) after_lemon(action, node);
  expect(++held_in_pool_[node.pool] <= share(cluster_.real().in_pool(node.pool).size(), rules.pool_percent),
         "more nodes of the pool than the budget", action);
  expect(++held_in_domain_[node.domain] <= share(kRack, rules.domain_percent),
         "more nodes of the failure domain than the budget", action);
  Times& times = cordons_[node.pool];
  times.push_back(cluster_.now());
  expect(std::cmp_less_equal(within_hour(times, cluster_.now()), rules.holds_per_hour),
         "more holds than the rate", action);
}

inline void Checks::after_lemon(const PlannedAction& action, const Node& node) {
  ++tally_.lemons;
  std::size_t held = 0;
  for (const auto& [name, plan] : ours_) {
    const LedgerEntry* entry = cluster_.real().entry(plan);
    const bool is_lemon = entry != nullptr && entry->cause == kLemonCause;
    held += is_lemon && cluster_.real().node(name)->pool == node.pool ? 1 : 0;
  }
  const std::size_t nodes = cluster_.real().in_pool(node.pool).size();
  const std::size_t percent = static_cast<std::size_t>(rules_of(node).pool_percent);
  expect(held <= nodes * 15 / 1000 && 2 * held <= nodes * percent / 100, "more lemons than their budget",
         action);
}

inline void Checks::of_grant(const Node& node, const World& seen) {
  ++tally_.grants;
  if (node.held) return;
  int in_service = 1;
  for (const std::string& name : seen.of_concern()) {
    const Node* other = seen.node(name);
    if (other == nullptr || other == &node || other->held || other->pool != node.pool) continue;
    if (other->verdict == Verdict::testing || other->granted_test) ++in_service;
  }
  EXPECT_LE(in_service, share_of(seen.in_pool(node.pool).size(), rules_of(node).testing_percent))
      << node.name;
}

}  // namespace autopilot::controller::simulation
