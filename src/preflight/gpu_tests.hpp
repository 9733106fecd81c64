// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "core/snapshot.hpp"
#include "diagnostics/operations/pass_book.hpp"
#include "host/diagnostic_results/results.hpp"
#include "preflight/test_verdict.hpp"

namespace autopilot::preflight {

// What becomes of a test that a pod may wait for. One of GPUs ran as a child of the agent: what it found goes
// to the board, where its check looks, and what passed into the book. One that could not look leaves why,
// where nothing is known yet. On the loop's thread.
class GpuTests {
 public:
  struct Sources {
    std::span<const checks::Check> checks;
    const catalog::Catalog& facts;
    host::TestBoard& board;
    diagnostics::PassBook& passes;
    std::function<Expectation()> expectation;
    std::function<SnapshotPtr()> snapshot;
  };
  explicit GpuTests(Sources sources) : sources_(std::move(sources)) {}

  // Those of an earlier agent: what they measured is what is usual of these cards, and what a test that
  // somebody asks for found wrong stands until another one has been made.
  void remember(std::span<const Operation> operations);
  // Names the GPUs of an operation in full: a child knows their addresses alone.
  void complete(Operation& operation) const;
  // An operation that began or ended, completed. Nothing: it found nothing that a check judges.
  std::optional<JudgedTest> note(const Operation& operation);

 private:
  [[nodiscard]] std::optional<JudgedTest> judge(const checks::Check& check, const Operation& operation);
  [[nodiscard]] std::optional<JudgedTest> judge_own_pings(const checks::Check& check,
                                                          const Operation& operation);
  void note_untested(const Operation& operation);
  void note_unproven();

  const Sources sources_;
  std::set<std::string> untested_;  // kinds of which the board has such a reason
};

}  // namespace autopilot::preflight
