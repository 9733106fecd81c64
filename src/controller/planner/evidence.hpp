// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/planner/brake.hpp"
#include "controller/planner/plan.hpp"

namespace autopilot::controller {

// What speaks against a node and was not spent on a plan that has ended.
struct Evidence {
  std::vector<const Report*> reports;    // of tests that failed on the GPUs of a pod: proof
  std::vector<const OpenCause*> causes;  // of its verdict EVICT

  [[nodiscard]] bool any() const { return !reports.empty() || !causes.empty(); }
  [[nodiscard]] WallTime first() const;
  [[nodiscard]] WallTime latest() const;
};

// open: the plan that has the node, whose evidence counts for it; null: none.
[[nodiscard]] Evidence evidence_of(const World& world, const Rules& rules, const Node& node,
                                   const LedgerEntry* open, WallTime now);
// The test failed, not too long ago, and has not passed since on all GPUs of the node.
[[nodiscard]] bool is_standing(const Report& report, const Node& node, const Rules& rules, WallTime now);
// The tests that failed have passed since on all GPUs of the node, or a deep test has.
[[nodiscard]] bool is_disproven(const Report& report, const Node& node);
// The plan was made for what is wrong with the node now, and for all of that.
[[nodiscard]] bool is_evidence(const LedgerEntry& plan, const Node& node);

// Why what is told of the node may not be true now; nothing: it may be believed.
[[nodiscard]] std::optional<Brake> doubt_of(const Node& node, const Rules& rules, WallTime now);

// "gpu.pcie_bandwidth failed for pod team-a/train-0: ..." or "xid_79 blames gpu/0000:3b:00.0".
[[nodiscard]] std::string sentence_of(const Evidence& evidence);

}  // namespace autopilot::controller
