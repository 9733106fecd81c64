// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "core/result.hpp"
#include "nettest/plan/fabric.hpp"
#include "nettest/plan/pair_result.hpp"
#include "nettest/plan/readings.hpp"
#include "nettest/plan/verdict.hpp"

namespace autopilot::nettest {

// Finds slow or dead nodes, NICs, links and paths with two rounds of pair tests and one confirming round, or,
// if requested, with all pairs and one confirming round. It plans the tests and evaluates the results; the
// caller runs the tests and decides when they run and how long they take. Equal results give equal rounds and
// an equal verdict.
class PairRun {
 public:
  // malformed: an invalid setting, or a share of the line rate while a rate is unknown. exhausted: all pairs
  // of more nodes than kMostForAllPairs.
  [[nodiscard]] static Result<PairRun> create(Fabric fabric, const PairSettings& settings);

  // The tests of the next round. All can run at once: each NIC is in at most one. Tests of earlier rounds
  // without a result are not waited for. Empty: no test is left, now or later.
  [[nodiscard]] std::vector<PairTest> next_round();

  // Adds a result, in any order, also after its round. not_found: unknown test. conflict: the test has a
  // result. malformed: a value that is not a positive number, more values than flows, or neither values nor a
  // reason.
  [[nodiscard]] Status take(PairResult result);

  // Removes a node, for example because a job started on it: its results no longer count, and it is not
  // tested again. not_found: unknown node.
  [[nodiscard]] Status leave(NodeNumber node);

  // The verdict from the results so far, at any time.
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

}  // namespace autopilot::nettest
