// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/check_result.hpp"
#include "core/subject.hpp"
#include "learning/records.hpp"
#include "learning/validation_result.hpp"
#include "postflight/plan.hpp"

// The test between the nodes of a job whose network was suspected. Pure.
namespace autopilot::postflight {

// True if this node starts the test: it is the first by name of the nodes that can take part, two at least.
[[nodiscard]] bool starts_pair_test(const JobFacts& job, std::string_view node);
// True if another node starts it and this node takes part. Its GPUs stay idle meanwhile: a node whose GPUs
// are in use is left out.
[[nodiscard]] bool awaits_pair_test(const JobFacts& job, std::string_view node);

// The test that this node started.
struct PairRun {
  std::string check;  // that judges it
  std::vector<std::string> nodes;
  std::string said;                   // its result, or why it has none, as a sentence
  std::optional<CheckResult> result;  // nullopt: it has none
};

// Nodes to test, as subjects of the operation.
[[nodiscard]] std::vector<Subject> subjects_of(const std::vector<std::string>& nodes);
[[nodiscard]] learning::PairTest pair_test_of(const PairRun& run);
// What it states about this node; what it states about others is not a fault of this node.
[[nodiscard]] std::vector<learning::CheckOutcome> own_outcomes_of(const PairRun& run, std::string_view node);
// "test between 4 nodes: ..."
[[nodiscard]] std::string to_sentence(const learning::PairTest& test);

}  // namespace autopilot::postflight
