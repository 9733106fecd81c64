// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "nettest/plan/fabric.hpp"
#include "nettest/plan/verdict.hpp"
#include "nettest/run/address_book.hpp"
#include "nettest/run/pair_medium.hpp"

namespace autopilot::nettest {

// A node, or one of its lines, that is tested with nobody.
struct LeftOut {
  std::string node;
  std::string line;  // "net1"; empty: the node as a whole
  std::string why;
  // It should have been: the node was named or does not answer, or most others have such a line. Nothing is
  // known of it, and a run that tells nothing else is not whole.
  bool is_missed = false;
};

// found: all nodes that were wanted. fabric: of those of them that are reached, in the same order. are_named:
// somebody wants these nodes tested, and no others. By node and line. Pure.
[[nodiscard]] std::vector<LeftOut> left_out_of(const std::vector<PeerNetwork>& found,
                                               const PairMedium& medium, const Fabric& fabric,
                                               bool are_named);

// Those of which a run that was ended before its time measured nothing: of one that was not, none. Pure.
[[nodiscard]] std::vector<LeftOut> ended_before(const Verdict& verdict, const Fabric& fabric);

// "net1: no other node has ..."; of a line that is all that a node has only why.
[[nodiscard]] std::string reason_of(const LeftOut& left, const PairMedium& medium);

}  // namespace autopilot::nettest
