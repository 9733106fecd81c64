// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "nettest/plan/pair_run.hpp"
#include "tests/support/nettest/simulated_fabric.hpp"

// Compares a verdict with the planted faults.
namespace autopilot::nettest::simulation {

// As agents measure over TCP (nettest/run/pair_medium.cpp): a pair uses one path between leaves, and
// another path in its next test.
inline PairSettings one_flow() {
  return {.most_samples = 8, .cross_flows = 1, .least_loss = 0.1};
}

struct Score {
  std::size_t planted = 0;
  std::size_t found = 0;  // faults of which a suspect names the nodes, rail and leaf
  std::size_t right =
      0;  // found faults whose suspect has the right kind (node, NIC, direction, link, uplinks ...)
  std::size_t accused = 0;  // suspects, except undecided ones
  std::size_t wrong = 0;    // suspects that name no faulty subject
  std::size_t undecided = 0;
  std::size_t rounds = 0;  // of all runs
  std::size_t most_rounds = 0;
  std::size_t runs = 0;

  [[nodiscard]] double precision() const { return share(accused - wrong, accused); }
  [[nodiscard]] double recall() const { return share(found, planted); }
  [[nodiscard]] double told_apart() const { return share(right, found); }

  Score& operator+=(const Score& other) {
    planted += other.planted;
    found += other.found;
    right += other.right;
    accused += other.accused;
    wrong += other.wrong;
    undecided += other.undecided;
    rounds += other.rounds;
    most_rounds = std::max(most_rounds, other.most_rounds);
    runs += other.runs;
    return *this;
  }

 private:
  static double share(std::size_t part, std::size_t whole) {
    return whole == 0 ? 1 : static_cast<double>(part) / static_cast<double>(whole);
  }
};

inline bool is_of_kind(SuspectKind told, Fault planted) {
  switch (planted) {
    case Fault::node:
      return told == SuspectKind::node;
    case Fault::nic:
      return told == SuspectKind::nic;
    case Fault::nic_sends:
      return told == SuspectKind::nic_sends;
    case Fault::nic_receives:
      return told == SuspectKind::nic_receives;
    case Fault::link:
      return told == SuspectKind::link;
    case Fault::uplink:
      return told == SuspectKind::uplink;
    case Fault::uplinks:
      return told == SuspectKind::uplinks;
    case Fault::spine:
      return told == SuspectKind::spine;
    case Fault::leaf:
      return told == SuspectKind::leaf;
    case Fault::way:
      return told == SuspectKind::between_leaves;
  }
  return false;
}

// True if the suspect names the faulty subject, with any kind.
inline bool names(const Suspect& suspect, const Planted& fault, std::size_t per_leaf) {
  if (suspect.rail && fault.kind != Fault::node && *suspect.rail != fault.rail) return false;
  const auto has = [&](NodeNumber node) { return std::ranges::count(suspect.nodes, node) > 0; };
  switch (fault.kind) {
    case Fault::link:
      return has(fault.one) && has(fault.other);
    case Fault::uplink:
    case Fault::uplinks:
      // A path between two leaves is also at one of its ends, under another kind.
      return suspect.leaf == fault.one || suspect.other_leaf == fault.one;
    case Fault::spine:
      return suspect.kind == SuspectKind::spine;
    case Fault::way:
      return suspect.leaf == fault.one && suspect.other_leaf == fault.other;
    case Fault::leaf:
      if (suspect.leaf) return suspect.leaf == fault.one;
      return !suspect.nodes.empty() && suspect.nodes.front() / per_leaf == fault.one;
    default:
      return has(fault.one) && suspect.nodes.size() == 1;
  }
}

inline Score score_of(const Verdict& verdict, std::span<const Planted> planted, std::size_t per_leaf) {
  Score score;
  score.planted = planted.size();
  score.rounds = verdict.rounds;
  score.most_rounds = verdict.rounds;
  score.runs = 1;
  for (const Planted& fault : planted) {
    bool is_found = false;
    bool is_right = false;
    for (const Suspect& suspect : verdict.suspects) {
      if (suspect.kind == SuspectKind::undecided || !names(suspect, fault, per_leaf)) continue;
      is_found = true;
      is_right = is_right || is_of_kind(suspect.kind, fault.kind);
    }
    if (is_found) ++score.found;
    if (is_right) ++score.right;
  }
  for (const Suspect& suspect : verdict.suspects) {
    if (suspect.kind == SuspectKind::undecided) {
      ++score.undecided;
      continue;
    }
    ++score.accused;
    if (std::ranges::none_of(planted, [&](const Planted& fault) { return names(suspect, fault, per_leaf); }))
      ++score.wrong;
  }
  return score;
}

// Runs all rounds and returns the verdict.
inline Verdict run_all(SimulatedFabric& fabric, const PairSettings& settings) {
  PairRun run = PairRun::create(fabric.known(), settings).value();
  for (std::vector<PairTest> round = run.next_round(); !round.empty(); round = run.next_round())
    for (PairResult& result : fabric.run(round))
      AUTOPILOT_ASSERT(run.take(std::move(result)).has_value());
  return run.verdict();
}

// That many different faults of a kind, at random places; links only between pairs of the first round of the
// run, because no other test would show them.
inline std::vector<Planted> some_faults(const SimulatedFabric& fabric, const PairSettings& settings,
                                        Fault kind, std::size_t count, double loss) {
  const Shape& shape = fabric.shape();
  std::mt19937_64 random(shape.seed * 7919 + static_cast<std::uint64_t>(kind));
  const auto below = [&](std::size_t limit) { return static_cast<std::uint32_t>(random() % limit); };
  std::vector<PairTest> meeting;
  if (kind == Fault::link) meeting = PairRun::create(fabric.known(), settings).value().next_round();
  const bool is_of_leaf = kind == Fault::uplink || kind == Fault::uplinks || kind == Fault::leaf;
  std::vector<Planted> faults;
  std::set<std::uint32_t> places;  // each node or leaf has at most one fault
  while (faults.size() < count) {
    Planted fault{kind, below(shape.rails), 0, 0, loss};
    if (kind == Fault::link) {
      const PairTest& test = meeting[below(meeting.size())];
      fault.rail = test.rail;
      fault.one = test.source;
      fault.other = test.destination;
    } else {
      fault.one = below(is_of_leaf ? fabric.leaves() : shape.nodes);
      fault.other = below(shape.uplinks());
    }
    if (places.insert(fault.one).second) faults.push_back(fault);
  }
  return faults;
}

// Tests one fabric with that many faults of a kind to the end.
inline Score score_of_run(const Shape& shape, Fault kind, std::size_t count, double loss,
                          PairSettings settings = {}) {
  SimulatedFabric fabric(shape);
  settings.seed = shape.seed;
  const std::vector<Planted> faults = some_faults(fabric, settings, kind, count, loss);
  for (const Planted& fault : faults)
    fabric.plant(fault);
  return score_of(run_all(fabric, settings), faults, shape.per_leaf);
}

}  // namespace autopilot::nettest::simulation
