// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "api/validations.hpp"

namespace autopilot::api::testing {

inline ValidationList sample_validations() {
  learning::ValidationResult result;
  result.record.id = "ml/a@n0@2026";
  result.record.job = "ml/a";
  result.record.start = WallTime(std::chrono::hours(500000));
  result.record.end = result.record.start + std::chrono::seconds(30);
  result.record.depth = learning::Depth::quick;
  result.record.verdict = learning::Verdict::failed;
  result.record.cause = "the job ended";
  result.record.checks = {
      {.check = "gpu.ecc", .gpu = "1650", .health = Health::failed, .reason = "ecc", .text = "two errors"}};
  result.name = "a";
  result.outcome = learning::JobOutcome::failed;
  result.failure = "hardware";
  result.gpus = {0, 3};
  result.compared = 16;
  result.worse_checks = 1;
  result.worse = {"gpu.ecc: healthy before the job, failed after it"};
  result.tries = 2;
  result.wants_pair_test = true;
  result.pair_test = learning::PairTest{.nodes = {"n0", "n1"},
                                        .text = "2 of 2 tests of pairs of 2 nodes measured in 1 round",
                                        .suspects = {"net0 of n1 receives 40 % less than usual"}};
  result.summary = "1 of 16 checks not as good";
  return {.node = "n0", .is_simulated = true, .waiting = 3, .validations = {result}};
}

}  // namespace autopilot::api::testing
