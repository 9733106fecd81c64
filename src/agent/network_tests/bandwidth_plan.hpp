// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "agent/network_tests/address_book.hpp"
#include "agent/network_tests/pair_medium.hpp"
#include "agent/network_tests/tester_doors.hpp"
#include "api/bandwidth_plan.hpp"
#include "core/result.hpp"
#include "fleet/pair_tests/pair_run.hpp"

namespace autopilot::agent {

// The run of tests of pairs over these nodes. Nodes of which nobody knows how they are reached are taken out
// of them, and, where a share is taken, lines of an unknown rate are not tested. Errors as fabric_of;
// unavailable: of too many lines nobody knows the rate; exhausted: all pairs of too many
// nodes, or which take longer than a test may.
[[nodiscard]] Result<fleet::PairRun> plan_run(std::vector<PeerNetwork>& networks, const PairMedium& medium,
                                              const PairChoice& choice);

// How it would begin. found: all nodes that were wanted, also those that the run is without.
[[nodiscard]] api::BandwidthPlan plan_of(const std::vector<PeerNetwork>& found, const PairMedium& medium,
                                         fleet::PairRun run, const PairChoice& choice);

}  // namespace autopilot::agent
