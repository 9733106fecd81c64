// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "learning/records.hpp"

namespace autopilot::learning {

// A test between the nodes of a job whose network was suspected.
struct PairTest {
  std::vector<std::string> nodes;     // that were to be tested, in ascending order
  std::string text;                   // one sentence: the result, or why there is none
  std::vector<std::string> suspects;  // one sentence for each slow or silent node, NIC or path
  static constexpr std::size_t kMostSuspects = 16;
};

// A validation after a job, as people read it: the record, what is known about the job, and the comparison
// with the state before the job.
struct ValidationResult {
  Validation record;
  std::string name;  // of the job, for people
  JobOutcome outcome = JobOutcome::unknown;
  std::string failure;             // key of the typed failure: "hardware", "application" ...
  std::string failure_text;        // one sentence; empty: no failure is known
  std::vector<int> gpus;           // driver indexes of the GPUs that the job held, ascending
  int compared = 0;                // checks with a result before the job and after it
  int worse_checks = 0;            // of these, checks that are not as good as before
  std::vector<std::string> worse;  // one sentence for each check or measured value, at most kMaxWorse
  static constexpr std::size_t kMaxWorse = 16;
  int tries = 1;                      // a validation whose diagnostics yielded is repeated
  bool wants_pair_test = false;       // in-flight monitoring suspected the network
  std::optional<PairTest> pair_test;  // that this node started
  std::string summary;                // one sentence
};

}  // namespace autopilot::learning
