// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "jobs/records.hpp"

namespace autopilot::jobs {

// What the validations of the nodes of a job have found after its end.
struct Afterwards {
  int nodes = 0;  // of the job
  // Of them, by the verdict of their last validation. The others have none, or none yet.
  int passed = 0;
  int failed = 0;
  int unknown = 0;
  std::vector<ValidationRecord> not_passed;  // failed ones first; at most kMostShown
  static constexpr std::size_t kMostShown = 16;
  std::string cause;  // probable cause of the failure of the job; empty: the validations give none

  [[nodiscard]] int validated() const { return passed + failed + unknown; }
  // Passed or failed on at least three of four nodes: enough for a cause and advice.
  [[nodiscard]] bool has_most_verdicts() const { return 4 * (passed + failed) >= 3 * nodes; }
};

// "2 of 16 nodes not as good as before: node-7 (network.rdma: ...), node-9 (...); restart without node-7,
// node-9".
[[nodiscard]] std::string sentence_of(const Afterwards& afterwards);

// What is wrong with one node: "network.rdma: mlx5_0 port 1: ..."; of a node without a result, why.
[[nodiscard]] std::string fault_text_of(const ValidationRecord& validation);

}  // namespace autopilot::jobs
