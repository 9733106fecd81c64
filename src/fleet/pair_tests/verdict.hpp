// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/pair_tests/ends.hpp"
#include "fleet/pair_tests/fabric.hpp"
#include "fleet/pair_tests/flows.hpp"
#include "fleet/pair_tests/readings.hpp"

namespace autopilot::fleet {

enum class SuspectKind : std::uint8_t {
  node,            // on nearly all of its rails
  nic,             // of a node on one rail, in both directions
  nic_sends,       // in one
  nic_receives,    // likewise
  link,            // between two nodes on one rail, both of which are fine with others
  leaf,            // nearly all NICs under it
  uplinks,         // of a leaf, all of them
  uplink,          // of a leaf, one or a few
  between_leaves,  // two of them, which are fine with others
  spine,           // what all leaves use
  rail,            // as a whole, beside the others
  undecided,       // one of two nodes or what is between them: it was not tested enough
};

[[nodiscard]] std::string_view to_string(SuspectKind kind);

// One test that speaks against a suspect, or clears it.
struct Evidence {
  std::uint32_t test = 0;
  RailNumber rail = 0;
  NodeNumber from = 0;
  NodeNumber to = 0;
  double share = 0;  // of what is usual
  bool is_low = false;
};

struct Suspect {
  static constexpr std::size_t kMostEvidence = 64;

  SuspectKind kind = SuspectKind::undecided;
  bool is_unreachable = false;  // nothing came through; else it is slow
  std::vector<NodeNumber>
      nodes;  // one; two of a link, undecided, or a way that they alone showed; those under a leaf
  std::optional<RailNumber> rail;  // nothing: all
  std::optional<LeafNumber> leaf;
  std::optional<LeafNumber> other_leaf;
  double loss = 0;                 // of what is usual, 0 to 1
  double confidence = 0;           // 0 to 1
  std::size_t partners = 0;        // that are fine, with which it was low; of a node with most on a rail
  std::size_t fine_rails = 0;      // of a NIC: other rails on which its node is fine
  std::vector<Evidence> evidence;  // the lowest first
  std::string sentence;
};

// A test of the matrix.
struct Cell {
  RailNumber rail = 0;
  NodeNumber source = 0;
  NodeNumber destination = 0;
  std::size_t round = 0;
  Locality locality = Locality::unknown;
  std::optional<double> forward;         // bits/s, the middle of the samples; source to destination
  std::optional<double> backward;        // destination to source
  std::optional<double> usual;           // bits/s of such a pair where all is well; source to destination
  std::optional<double> usual_backward;  // destination to source
  std::optional<Missing> missing;
};

struct Unmeasured {
  RailNumber rail = 0;
  NodeNumber node = 0;
  std::optional<Missing> why;  // of its last test; nothing: it was in none that ended
};

struct Verdict {
  bool is_complete = false;  // there is no further round; else the run ended before
  std::size_t rounds = 0;
  std::size_t tests = 0;
  std::size_t measured = 0;  // of them
  Noise noise;
  std::vector<Reference> references;
  std::vector<Suspect> suspects;          // those to look at first come first; undecided ones last
  std::vector<RailNumber> hidden_leaves;  // rails on which no slow NIC or link is told (hidden_leaves.hpp)
  std::vector<Unmeasured> unmeasured;     // NICs of which nothing is known
  std::vector<Cell> cells;                // by id of the tests
};

// Suspects and NICs of which nothing is known; the rest is the caller's.
[[nodiscard]] Verdict make_verdict(const Fabric& fabric, const std::vector<Record>& records,
                                   const std::vector<bool>& gone, const PairSettings& settings);

// One sentence for a person: who, by how much, and what speaks for it.
[[nodiscard]] std::string sentence_of(const Fabric& fabric, const Suspect& suspect, const PathFault* path);

}  // namespace autopilot::fleet
