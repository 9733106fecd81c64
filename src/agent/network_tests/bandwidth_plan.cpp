// SPDX-License-Identifier: Apache-2.0
#include "agent/network_tests/bandwidth_plan.hpp"

#include <algorithm>
#include <utility>

#include "agent/network_tests/bandwidth_run.hpp"
#include "agent/network_tests/left_out.hpp"

namespace autopilot::agent {
namespace {

api::PlannedRail rail_of(const fleet::Fabric& fabric, fleet::RailNumber rail) {
  api::PlannedRail planned{.rail = fabric.rails()[rail], .nodes = {}};
  for (fleet::NodeNumber node = 0; node < fabric.nodes().size(); ++node)
    if (fabric.nic(rail, node) != nullptr) planned.nodes.push_back(fabric.nodes()[node].name);
  return planned;
}

// Each has its servers begin and end; both ways have a second before they count.
std::size_t seconds_of(const std::vector<fleet::PairTest>& tests) {
  constexpr std::size_t kAround = 2;
  std::size_t longest = 0;
  for (const fleet::PairTest& test : tests)
    longest = std::max(longest, 2 * (seconds_each_way(test) + 1) + kAround);
  return longest * ((tests.size() + BandwidthRun::kMostAtOnce - 1) / BandwidthRun::kMostAtOnce);
}

}  // namespace

Result<fleet::PairRun> plan_run(std::vector<PeerNetwork>& networks, const PairMedium& medium,
                                int most_percent) {
  std::erase_if(networks, [](const PeerNetwork& network) { return !network.problem.empty(); });
  const bool needs_rates = most_percent < BandwidthRun::kAllOfLine;
  auto fabric = fabric_of(networks, medium, needs_rates);
  if (!fabric && needs_rates && fabric_of(networks, medium, false))
    return fail(Errc::unavailable, std::string(medium.no_share));
  if (!fabric) return fail(fabric.error());
  return fleet::PairRun::create(*std::move(fabric), medium.settings);
}

api::BandwidthPlan plan_of(const std::vector<PeerNetwork>& found, const PairMedium& medium,
                           fleet::PairRun run, int most_percent) {
  const std::vector<fleet::PairTest> tests = run.next_round();
  const fleet::Fabric& fabric = run.fabric();
  api::BandwidthPlan plan{.rails = {},
                          .pairs = {},
                          .seconds = seconds_of(tests),
                          .most_percent = static_cast<std::size_t>(most_percent),
                          .left_out = {}};
  for (fleet::RailNumber rail = 0; rail < fabric.rails().size(); ++rail)
    plan.rails.push_back(rail_of(fabric, rail));
  for (const fleet::PairTest& test : tests)
    plan.pairs.push_back(
        {fabric.rails()[test.rail], fabric.nodes()[test.source].name, fabric.nodes()[test.destination].name});
  for (const LeftOut& left : left_out_of(found, medium, fabric, false))
    plan.left_out.push_back({left.node, reason_of(left, medium)});
  return plan;
}

}  // namespace autopilot::agent
