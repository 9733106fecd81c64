// SPDX-License-Identifier: Apache-2.0
#include "nettest/run/bandwidth_plan.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "diagnostics/operations/operations.hpp"
#include "nettest/plan/all_pairs.hpp"
#include "nettest/run/bandwidth_run.hpp"
#include "nettest/run/left_out.hpp"

namespace autopilot::nettest {
namespace {

api::PlannedRail rail_of(const Fabric& fabric, RailNumber rail) {
  api::PlannedRail planned{.rail = fabric.rails()[rail], .nodes = {}};
  for (NodeNumber node = 0; node < fabric.nodes().size(); ++node)
    if (fabric.nic(rail, node) != nullptr) planned.nodes.push_back(fabric.nodes()[node].name);
  return planned;
}

// Each has its servers begin and end; both ways have a second before they count.
std::size_t seconds_of(const std::vector<PairTest>& tests) {
  constexpr std::size_t kAround = 2;
  std::size_t longest = 0;
  for (const PairTest& test : tests)
    longest = std::max(longest, 2 * (seconds_each_way(test) + 1) + kAround);
  return longest * ((tests.size() + BandwidthRun::kMostAtOnce - 1) / BandwidthRun::kMostAtOnce);
}

PairSettings settings_of(const PairMedium& medium, const PairChoice& choice) {
  PairSettings settings = medium.settings;
  settings.all_pairs = choice.all_pairs;
  settings.seed += choice.turn;
  return settings;
}

// All pairs are told of too late, or never, where they take longer than a test may.
Status check_length(PairRun run, const PairMedium& medium, const PairChoice& choice) {
  if (!choice.all_pairs) return {};
  const std::size_t rounds = all_pairs_rounds(run.fabric(), settings_of(medium, choice));
  const std::size_t seconds = seconds_of(run.next_round());
  if (std::chrono::seconds{rounds * seconds} <= diagnostics::Operations::kMaxDeadline) return {};
  return fail(Errc::exhausted, "all pairs take " + std::to_string(rounds) + " rounds of about " +
                                   std::to_string(seconds) + " s, and no test takes longer than " +
                                   format_duration(diagnostics::Operations::kMaxDeadline));
}

}  // namespace

Result<PairRun> plan_run(std::vector<PeerNetwork>& networks, const PairMedium& medium,
                         const PairChoice& choice) {
  std::erase_if(networks, [](const PeerNetwork& network) { return !network.problem.empty(); });
  const bool needs_rates = choice.most_percent < PairChoice::kAllOfLine;
  auto fabric = fabric_of(networks, medium, needs_rates);
  if (!fabric && needs_rates && fabric_of(networks, medium, false))
    return fail(Errc::unavailable, std::string(medium.no_share));
  if (!fabric) return fail(fabric.error());
  auto run = PairRun::create(*std::move(fabric), settings_of(medium, choice));
  const Status may_begin = run ? check_length(*run, medium, choice) : fail(run.error());
  if (!may_begin && may_begin.error().code == Errc::exhausted)
    return fail(Errc::exhausted,
                may_begin.error().what + ": name fewer (--nodes), or set network.all_pairs to false");
  return run;
}

api::BandwidthPlan plan_of(const std::vector<PeerNetwork>& found, const PairMedium& medium, PairRun run,
                           const PairChoice& choice) {
  const std::vector<PairTest> tests = run.next_round();
  const Fabric& fabric = run.fabric();
  api::BandwidthPlan plan{.rails = {},
                          .pairs = {},
                          .seconds = seconds_of(tests),
                          .rounds = 1,
                          .most_percent = static_cast<std::size_t>(choice.most_percent),
                          .left_out = {}};
  if (choice.all_pairs) plan.rounds = all_pairs_rounds(fabric, settings_of(medium, choice));
  for (RailNumber rail = 0; rail < fabric.rails().size(); ++rail)
    plan.rails.push_back(rail_of(fabric, rail));
  for (const PairTest& test : tests)
    plan.pairs.push_back(
        {fabric.rails()[test.rail], fabric.nodes()[test.source].name, fabric.nodes()[test.destination].name});
  for (const LeftOut& left : left_out_of(found, medium, fabric, false))
    plan.left_out.push_back({left.node, reason_of(left, medium)});
  return plan;
}

}  // namespace autopilot::nettest
