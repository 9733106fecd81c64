// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nettest/plan/ends.hpp"
#include "nettest/plan/fabric.hpp"
#include "nettest/plan/flows.hpp"
#include "nettest/plan/readings.hpp"

namespace autopilot::nettest {

enum class SuspectKind : std::uint8_t {
  node,            // bad on nearly all of its rails
  nic,             // of a node on one rail, in both directions
  nic_sends,       // in one direction
  nic_receives,    // in one direction
  link,            // between two nodes on one rail, both of which are healthy with others
  leaf,            // nearly all NICs under it
  uplinks,         // all uplinks of a leaf
  uplink,          // one or a few uplinks of a leaf
  between_leaves,  // the path between two leaves that are healthy with others
  spine,           // shared by all leaves
  rail,            // as a whole, compared with the others
  undecided,       // one of two nodes or the path between them: not tested enough
};

[[nodiscard]] std::string_view to_string(SuspectKind kind);

// One test that is evidence against a suspect, or clears it.
struct Evidence {
  std::uint32_t test = 0;
  RailNumber rail = 0;
  NodeNumber from = 0;
  NodeNumber to = 0;
  double share = 0;  // of the usual rate
  bool is_low = false;
};

struct Suspect {
  static constexpr std::size_t kMostEvidence = 64;

  SuspectKind kind = SuspectKind::undecided;
  bool is_unreachable = false;     // no data arrived; else it is slow
  std::vector<NodeNumber> nodes;   // one node; two for a link, undecided, or a path that only these two show;
                                   // the nodes under a leaf
  std::optional<RailNumber> rail;  // not set: all rails
  std::optional<LeafNumber> leaf;
  std::optional<LeafNumber> other_leaf;
  double loss = 0;        // of the usual rate, 0 to 1
  double confidence = 0;  // 0 to 1
  std::size_t partners =
      0;  // healthy partners with which it was low; of a node the largest number on one rail
  std::size_t fine_rails = 0;      // for a NIC: other rails on which its node is healthy
  std::vector<Evidence> evidence;  // lowest first
  std::string sentence;
};

// One test of the matrix.
struct Cell {
  RailNumber rail = 0;
  NodeNumber source = 0;
  NodeNumber destination = 0;
  std::size_t round = 0;
  Locality locality = Locality::unknown;
  std::optional<double> forward;         // bits/s, median of the samples; source to destination
  std::optional<double> backward;        // destination to source
  std::optional<double> usual;           // usual bits/s of such a pair; source to destination
  std::optional<double> usual_backward;  // destination to source
  std::optional<Missing> missing;
};

struct Unmeasured {
  RailNumber rail = 0;
  NodeNumber node = 0;
  std::optional<Missing> why;  // result of its last test; not set: no test of it has ended
};

struct Verdict {
  bool is_complete = false;  // no further round follows; else the run ended early
  std::size_t rounds = 0;
  std::size_t tests = 0;
  std::size_t measured = 0;  // number of measured NICs
  Noise noise;
  std::vector<Reference> references;
  std::vector<Suspect> suspects;          // in order of urgency; undecided ones last
  std::vector<RailNumber> hidden_leaves;  // rails without a verdict on slow NICs and links
  std::vector<Unmeasured> unmeasured;     // NICs without a result
  std::vector<Cell> cells;                // by id of the tests
};

// Sets suspects and NICs without a result; the caller sets the rest.
[[nodiscard]] Verdict make_verdict(const Fabric& fabric, const std::vector<Record>& records,
                                   const std::vector<bool>& gone, const PairSettings& settings);

// One sentence for a person: the suspect, its loss, and the evidence.
[[nodiscard]] std::string sentence_of(const Fabric& fabric, const Suspect& suspect, const PathFault* path);

}  // namespace autopilot::nettest
