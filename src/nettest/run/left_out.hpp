// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "nettest/plan/fabric.hpp"
#include "nettest/plan/verdict.hpp"
#include "nettest/run/address_book.hpp"
#include "nettest/run/pair_medium.hpp"

namespace autopilot::nettest {

// Node, or one of its lines, that is in no test.
struct LeftOut {
  std::string node;
  std::string line;  // "net1"; empty: the node as a whole
  std::string why;
  // It should be in a test: the node was named or does not answer, or most other nodes have such a line. Its
  // health is unknown, so a run without other findings is not complete.
  bool is_missed = false;
};

// found: all nodes that were wanted. fabric: of the reachable nodes among them, in the same order. are_named:
// the caller named the nodes to test. Sorted by node and line. Pure.
[[nodiscard]] std::vector<LeftOut> left_out_of(const std::vector<PeerNetwork>& found,
                                               const PairMedium& medium, const Fabric& fabric,
                                               bool are_named);

// Nodes and lines of which a run that was stopped early measured nothing; empty for a complete run. Pure.
[[nodiscard]] std::vector<LeftOut> ended_before(const Verdict& verdict, const Fabric& fabric);

// "net1: no other node has ..."; only the reason if the line is everything that a node has.
[[nodiscard]] std::string reason_of(const LeftOut& left, const PairMedium& medium);

}  // namespace autopilot::nettest
