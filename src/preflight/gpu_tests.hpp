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

// Takes the results of diagnostics that a pod may wait for. Observations of a GPU diagnostic, which ran as a
// child of the agent, go to the board, from which its check reads; passed GPUs get pass records. If the
// diagnostic could not run and the board has no result yet, the board gets the reason. On the event loop's
// thread.
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

  // Takes operations of an earlier agent: their measurements are the usual values of these GPUs, and faults
  // found by a requested diagnostic remain until another one has run.
  void remember(std::span<const Operation> operations);
  // Completes the GPU subjects of an operation: a child knows only their addresses.
  void complete(Operation& operation) const;
  // Takes a completed operation that began or ended. Not set: it has no result that a check judges.
  std::optional<JudgedTest> note(const Operation& operation);

 private:
  [[nodiscard]] std::optional<JudgedTest> judge(const checks::Check& check, const Operation& operation);
  [[nodiscard]] std::optional<JudgedTest> judge_own_pings(const checks::Check& check,
                                                          const Operation& operation);
  void note_untested(const Operation& operation);
  void note_unproven();

  const Sources sources_;
  std::set<std::string> untested_;  // kinds for which the board has a reason in place of a result
};

}  // namespace autopilot::preflight
