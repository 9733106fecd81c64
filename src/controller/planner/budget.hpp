// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/planner/facts.hpp"
#include "controller/planner/plan.hpp"

namespace autopilot::controller {

// Every pool and cause with at least max(nodes, percent) nodes that failed within one window and have not
// recovered since, from passive findings only. The window is not limited to the time before now: otherwise
// the nodes would be taken one by one once it has passed. nodes: the nodes of concern.
[[nodiscard]] std::vector<TrippedBreaker> tripped_breakers(const World& world, const Policy& policy,
                                                           std::span<const Node* const> nodes);
// The first one of that pool; null: none.
[[nodiscard]] const TrippedBreaker* tripped_in(const std::vector<TrippedBreaker>& breakers,
                                               std::string_view pool);
// "8 of 20 nodes of pool h100 turned bad by nvlink_fatal within 30m, 3 are too many: ..."
[[nodiscard]] std::string describe(const TrippedBreaker& breaker, const World& world, const Rules& rules);

// The holds and the actions of the last hour, from the ledger, and what the limits still allow. One object
// for each plan that is made; decisions of that plan are deducted immediately.
class Budget {
 public:
  static constexpr Duration kHour = std::chrono::hours{1};
  static constexpr Duration kDay = std::chrono::hours{24};  // time for which a hold counts against its job

  // nodes: the nodes of concern.
  Budget(const World& world, const Policy& policy, WallTime now, std::span<const Node* const> nodes);

  // Why the plan cannot hold its node; nullopt: it can. The plan does not count itself.
  [[nodiscard]] std::optional<Brake> brake_of_hold(const LedgerEntry& plan) const;
  // Why the plan cannot hold a lemon: no more nodes of the pool are out of service for their history than
  // learning::lemon_budget and half of the budget of the pool, because a lemon is held until a person returns
  // it. None in a pool of fewer than 20 nodes.
  [[nodiscard]] std::optional<Brake> brake_of_lemon(const LedgerEntry& plan) const;
  void take_hold(const LedgerEntry& plan);
  void give_back_hold(const LedgerEntry& plan);

  // Why no pod of that job can be moved off the node of the plan: the job has already lost as many other
  // nodes as the limit allows.
  [[nodiscard]] std::optional<Brake> brake_of_job(const LedgerEntry& plan, const std::string& job) const;
  // Why additionally no running pod of that job can be moved off the node of the plan: the job lost another
  // node recently.
  [[nodiscard]] std::optional<Brake> brake_of_stop(const LedgerEntry& plan, const std::string& job) const;
  void take_job(const LedgerEntry& plan, const std::string& job);

  [[nodiscard]] std::optional<Brake> brake_of_eviction(std::string_view pool) const;
  void take_eviction(std::string_view pool, const std::string& pod) {
    times_of(evictions_, pool).emplace(now_, pod);
  }
  // When the rate limits allow the next one; nullopt: now.
  [[nodiscard]] std::optional<WallTime> next_hold(std::string_view pool) const;
  [[nodiscard]] std::optional<WallTime> next_eviction(std::string_view pool) const;

  // "pool h100: 1 of 2 nodes held, rack-7: 0 of 1, last hour: 1 of 6"
  [[nodiscard]] std::string state(const LedgerEntry& plan) const;
  [[nodiscard]] std::size_t plans_looked_at() const { return looked_at_; }

 private:
  using Times =
      std::set<std::pair<WallTime, std::string>>;  // with the name of the plan, or the uid of the pod
  using TimesByPool = std::map<std::string, Times, std::less<>>;
  using Held = std::map<std::string, World::Names, std::less<>>;  // nodes, by pool, domain or job

  // A plan counts in the current pool and domain of its node and in those of its decision: otherwise a policy
  // that renames pools, or a label that disappears with a GPU, would free budget.
  [[nodiscard]] World::Names pools_of(const LedgerEntry& plan) const;
  [[nodiscard]] World::Names domains_of(const LedgerEntry& plan) const;
  // Of its node now; of the decision if the node is gone.
  [[nodiscard]] const std::string& pool_of(const LedgerEntry& plan) const;
  [[nodiscard]] const std::string& domain_of(const LedgerEntry& plan) const;
  void count(const LedgerEntry& plan);
  void count_last_hour();
  void count_stops();
  void count_recorded(std::span<const Node* const> nodes);
  [[nodiscard]] static Times& times_of(TimesByPool& times, std::string_view pool);
  void note(TimesByPool& times, const LedgerEntry& plan, WallTime at, const std::string& what) const;
  [[nodiscard]] std::optional<WallTime> next_in(const TimesByPool& times, std::string_view pool,
                                                int limit) const;
  [[nodiscard]] static std::size_t others(const Held& held, std::string_view key, const std::string& node);
  [[nodiscard]] int job_limit(const std::string& job, const Rules& rules) const;
  [[nodiscard]] std::optional<WallTime> held_at(const LedgerEntry& plan) const;
  [[nodiscard]] std::size_t holds_in_hour(const LedgerEntry& plan) const;

  const World& world_;
  const Policy& policy_;
  WallTime now_;
  Held pools_;
  Held domains_;
  Held jobs_;
  Held lemons_;  // by pool
  std::map<std::string, std::vector<std::pair<WallTime, std::string>>, std::less<>>
      stops_;  // removals of running pods by job, with the node
  TimesByPool holds_;
  TimesByPool evictions_;
  std::size_t looked_at_ = 0;
};

}  // namespace autopilot::controller
