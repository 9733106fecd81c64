// SPDX-License-Identifier: Apache-2.0
#include "agent/deep_test_outlets.hpp"

#include <string>
#include <utility>
#include <vector>

#include "diagnostics/cluster/deep_test_words.hpp"

namespace autopilot::agent {
namespace {

void look(runtime::Runtime& runtime, const std::function<void()>& poll_soon,
          const std::function<void()>& done) {
  // A disabled check does not run.
  if (!runtime.run_now(diagnostics::kDeepTestCheck, [done](const CheckResult&) { done(); })) return done();
  poll_soon();
}

}  // namespace

DeepTestOutlets deep_test_outlets(runtime::Runtime& runtime, diagnostics::PassBook& passes,
                                  std::shared_ptr<host::TestBoard> board, std::function<void()> poll_soon) {
  DeepTestOutlets outlets;
  outlets.reserve = [&runtime, poll_soon](bool is_reserved) {
    runtime.set_reserved_for_deep_test(is_reserved);
    poll_soon();
  };
  outlets.judge = [&runtime, board = std::move(board), poll_soon](Result<Observations> seen,
                                                                  const std::function<void()>& on_judged) {
    board->put(std::string(diagnostics::kDeepTestCheck), std::move(seen));
    // The first result may be of a run that began before the put; the second is not.
    look(runtime, poll_soon, [&runtime, poll_soon, on_judged] { look(runtime, poll_soon, on_judged); });
  };
  outlets.pass = [&passes, poll_soon = std::move(poll_soon)](const std::vector<PassRecord>& records) {
    passes.add(records);
    poll_soon();
  };
  return outlets;
}

}  // namespace autopilot::agent
