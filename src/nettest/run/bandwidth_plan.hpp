// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "api/bandwidth.hpp"
#include "core/result.hpp"
#include "nettest/plan/pair_run.hpp"
#include "nettest/run/address_book.hpp"
#include "nettest/run/pair_medium.hpp"
#include "nettest/run/tester_doors.hpp"

namespace autopilot::nettest {

// The run of tests of pairs over these nodes. Nodes of which nobody knows how they are reached are taken out
// of them, and, where a share is taken, lines of an unknown rate are not tested. Errors as fabric_of;
// unavailable: of too many lines nobody knows the rate; exhausted: all pairs of too many
// nodes, or which take longer than a test may.
[[nodiscard]] Result<PairRun> plan_run(std::vector<PeerNetwork>& networks, const PairMedium& medium,
                                       const PairChoice& choice);

// How it would begin. found: all nodes that were wanted, also those that the run is without.
[[nodiscard]] api::BandwidthPlan plan_of(const std::vector<PeerNetwork>& found, const PairMedium& medium,
                                         PairRun run, const PairChoice& choice);

}  // namespace autopilot::nettest
