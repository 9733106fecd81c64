// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "core/result.hpp"
#include "fleet/pair_tests/fabric.hpp"
#include "fleet/pair_tests/pair_result.hpp"
#include "fleet/pair_tests/readings.hpp"
#include "fleet/pair_tests/verdict.hpp"

namespace autopilot::fleet {

// Finds out which node, NIC, link or path is slow or dead: in two rounds of tests of pairs and one that
// confirms, or where it is wanted by all pairs there are and one round that confirms. Says what to test and
// makes sense of the results; who makes the tests, when, and how long they may take is the caller's. The same
// results give the same rounds and the same verdict.
class PairRun {
 public:
  // malformed: a setting that makes no sense, or a share of the line rate where a rate is not known.
  // exhausted: all pairs of more nodes than kMostForAllPairs.
  [[nodiscard]] static Result<PairRun> create(Fabric fabric, const PairSettings& settings);

  // The tests of the next round, all of which may be made at once: no NIC is in two. Those of earlier rounds
  // that gave no result are not waited for. Empty: there is nothing left to test, and it stays so.
  [[nodiscard]] std::vector<PairTest> next_round();

  // In any order, also after its round. not_found: no such test. conflict: its result is there. malformed: a
  // value that is no positive number, more values than flows, or none and no reason.
  [[nodiscard]] Status take(PairResult result);

  // A job began there, or somebody wants it left alone: nothing of it counts any more, and it is tested no
  // more. not_found: no such node.
  [[nodiscard]] Status leave(NodeNumber node);

  // By what is known now, at any time.
  [[nodiscard]] Verdict verdict() const;

  [[nodiscard]] const Fabric& fabric() const { return fabric_; }

 private:
  PairRun(Fabric fabric, const PairSettings& settings);
  [[nodiscard]] std::vector<Record> plan_round();

  Fabric fabric_;
  PairSettings settings_;
  std::vector<Record> records_;  // by id of the test
  std::vector<bool> gone_;       // by node
  std::size_t rounds_ = 0;
  bool is_confirming_ = false;  // all pairs were tested
  bool is_over_ = false;
};

}  // namespace autopilot::fleet
