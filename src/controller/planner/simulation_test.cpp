// SPDX-License-Identifier: Apache-2.0
// The planner for thirty days in a cluster of 2,000 nodes, in virtual time: with lost writes and lost
// responses, a controller that crashes between any two writes and has no memory, a delayed snapshot, and
// operators who interfere. Each write is checked against rules that must never be violated; at the end every
// node is returned.
// AUTOPILOT_SIMULATION_SEEDS: number of clusters, default 20; AUTOPILOT_SIMULATION_FIRST_SEED: the first
// seed.
#include <cstdlib>
#include <iostream>
#include <memory>

#include "core/parse.hpp"
#include "tests/support/controller/simulation_checks.hpp"

namespace autopilot::controller::simulation {
namespace {

using namespace std::chrono_literals;

// Makes plans and executes them, like the executor.
class Leader {
 public:
  Leader(Cluster& cluster, const Policy& policy)
      : cluster_(cluster), policy_(policy), checks_(cluster, policy) {}

  void act() {
    if (cluster_.now() < dead_until_) return;
    if (std::exchange(is_blind_, false)) cluster_.catch_up();
    checks_.forget_meddled();
    const World& seen = cluster_.look();
    const Plan made = plan(seen, policy_, cluster_.time());
    Tally& tally = checks_.tally();
    ++tally.plans;
    tally.nodes_looked_at += made.cost.nodes;
    if (made.decisions.empty()) ++tally.idle;
    if (!made.breakers.empty()) ++tally.breakers;
    for (const std::string& node : made.may_test) {
      checks_.of_grant(*seen.node(node), seen);
      cluster_.grant_test(node);
    }
    for (const Decision& decision : made.decisions)
      if (!carry_out(decision, seen)) break;
    if (made.next) cluster_.wake(*made.next);
    if (cluster_.has_news() || is_blind_) cluster_.wake(cluster_.time() + 1s);
  }
  Checks& checks() { return checks_; }

 private:
  enum class Sent : std::uint8_t { done, refused, lost };

  // False: no further action is based on this snapshot.
  bool carry_out(const Decision& decision, const World& seen) {
    const LedgerEntry* entry = decision.entry ? &*decision.entry : nullptr;
    const bool is_end = entry != nullptr && entry->phase == Phase::over;
    if (entry != nullptr && decision.is_changed) {
      if (!entry->brake.empty()) ++checks_.tally().brakes[entry->brake];
      if (!is_end && !keep(*entry)) return false;
    }
    std::optional<LedgerEntry> noted = decision.entry;
    std::string version;  // of the node, after a write of ours
    bool has_noted = false;
    for (const PlannedAction& action : decision.actions) {
      if (action.is_recorded_only) {
        ++checks_.tally().recorded;
        continue;
      }
      const bool removes = is_removal(action.kind);
      if (noted && removes) {
        note(*noted, action);
        if (!keep(*noted)) return false;
      }
      const Sent sent = send(action, entry, version, seen);
      if (sent == Sent::lost) return false;
      if (sent == Sent::refused) {
        cluster_.wake(cluster_.time() + 30s);
        break;
      }
      if (!noted || removes || !is_noted(action.kind)) continue;
      has_noted = true;
      note(*noted, action);
    }
    if (!noted || !(has_noted || (is_end && decision.is_changed))) return true;
    return keep(*noted);
  }

  void note(LedgerEntry& entry, const PlannedAction& action) const {
    entry.updated = cluster_.time();
    note_done(entry, DoneStep{.kind = action.kind,
                              .target = action.target_key(),
                              .at = cluster_.time(),
                              .is_counted = action.is_counted});
  }

  Sent send(const PlannedAction& action, const LedgerEntry* entry, std::string& version, const World& seen) {
    checks_.before(action, entry, seen);
    if (!may_send()) return Sent::lost;
    const bool answers = !is_lost(cluster_.trouble().lost_answers);
    const bool is_done = cluster_.write(action, version.empty() ? action.target.version : version, answers);
    if (is_done) checks_.after(action, seen);
    const bool is_write = action.kind != ActionKind::event && action.target.kind == "Node";
    if (is_done && is_write) version = cluster_.real().node(action.target.name)->version;
    if (!answers) return Sent::lost;
    if (!is_done) ++checks_.tally().refused;
    return is_done ? Sent::done : Sent::refused;
  }

  bool keep(const LedgerEntry& entry) {
    if (!may_send()) return false;
    const bool answers = !is_lost(cluster_.trouble().lost_answers);
    cluster_.write(entry, answers);
    return answers;
  }

  bool may_send() {
    if (cluster_.happens(cluster_.trouble().deaths)) {
      ++checks_.tally().deaths;
      is_blind_ = true;
      dead_until_ = cluster_.now() + 10 + cluster_.below(10 * 60);
      cluster_.wake(Cluster::time_of(dead_until_));
      return false;
    }
    return !is_lost(cluster_.trouble().lost_requests);
  }

  bool is_lost(int thousandths) {
    if (!cluster_.happens(thousandths)) return false;
    ++checks_.tally().lost;
    is_blind_ = true;
    return true;
  }

  Cluster& cluster_;
  const Policy& policy_;
  Checks checks_;
  bool is_blind_ = false;
  Seconds dead_until_ = -1;
};

Policy simulated_policy() {
  Policy policy;
  for (const auto& [name, mode] :
       {std::pair{"act", Mode::act}, {"hold", Mode::hold}, {"observe", Mode::observe}}) {
    Pool pool{.name = name, .selector = {{"pool", name}}, .rules = {}};
    pool.rules.mode = mode;
    pool.rules.holds_lemons = true;
    // Low enough that budgets and rates are reached.
    pool.rules.pool_percent = 1;
    pool.rules.holds_per_hour = 2;
    pool.rules.evictions_per_hour = 1;
    policy.pools.push_back(std::move(pool));
  }
  return policy;
}

// Every fourth cluster is old.
Trouble trouble_of(std::uint64_t seed) {
  Trouble trouble;
  if (seed % 4 != 0) return trouble;
  trouble.passive_faults *= 3;
  trouble.latent_faults *= 3;
  return trouble;
}

Tally run(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  const Policy policy = simulated_policy();
  const auto cluster = std::make_unique<Cluster>(seed, trouble_of(seed));
  Leader leader(*cluster, policy);
  const auto act = [&] {
    if (!::testing::Test::HasFailure()) leader.act();
  };
  cluster->run_until(30 * kDay, act);
  cluster->calm_down();
  // A job that continues although its node was repaired ends within eight days, and only then a test is
  // possible. Repairs take at most four days, probation four, tests of technicians some hours.
  cluster->run_until(45 * kDay, act);
  if (::testing::Test::HasFailure()) return leader.checks().tally();
  for (const std::string& name : cluster->real().open_plans()) {
    const LedgerEntry& entry = *cluster->real().entry(name);
    ADD_FAILURE() << name << " is still " << to_string(entry.phase) << ": " << entry.message;
  }
  for (const auto& [name, node] : cluster->real().nodes())
    if (node.held || node.probation) ADD_FAILURE() << name << " was not given back";
  leader.checks().forget_meddled();
  EXPECT_EQ(leader.checks().held(), 0U);
  return leader.checks().tally();
}

std::uint64_t variable(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : parse_number<std::uint64_t>(text).value_or(otherwise);
}

TEST(Simulation, thirty_days_of_2000_nodes) {
  const std::uint64_t first = variable("AUTOPILOT_SIMULATION_FIRST_SEED", 1);
  const std::uint64_t seeds = variable("AUTOPILOT_SIMULATION_SEEDS", 20);
  Tally all;
  for (std::uint64_t seed = first; seed < first + seeds && !HasFailure(); ++seed)
    all += run(seed);
  std::cout << seeds << " seeds from " << first << ": " << all.plans << " plans, " << all.idle
            << " of them empty, " << static_cast<double>(all.nodes_looked_at) / static_cast<double>(all.plans)
            << " nodes looked at for each, " << all.cordons << " holds, " << all.lemons << " of lemons, "
            << all.uncordons << " given back, " << all.moved_gated << " gated and " << all.moved_running
            << " running pods moved, " << all.deep_tests << " deep tests, " << all.requests << " requests, "
            << all.grants << " grants, " << all.recorded << " recorded, " << all.breakers
            << " plans under a breaker; " << all.refused << " writes refused, " << all.lost << " lost, "
            << all.deaths << " deaths\nbrakes:";
  for (const auto& [brake, count] : all.brakes)
    std::cout << ' ' << brake << ' ' << count;
  std::cout << std::endl;
  // The cost depends on the number of faults in the cluster, not on its size.
  EXPECT_LT(all.nodes_looked_at, all.plans * kNodes / 10);
  if (seeds < 20) return;
  // Everything was tested.
  for (const std::size_t count :
       {all.cordons, all.lemons, all.uncordons, all.moved_gated, all.moved_running, all.deep_tests,
        all.requests, all.grants, all.recorded, all.breakers, all.refused, all.lost, all.deaths})
    EXPECT_GT(count, 0U);
  for (const char* brake : {"breaker", "unknown", "stale", "pool_budget", "domain_budget", "job_budget",
                            "rate", "settling", "others_cordon", "exempt"})
    EXPECT_GT(all.brakes[brake], 0U) << brake;
}

}  // namespace
}  // namespace autopilot::controller::simulation
