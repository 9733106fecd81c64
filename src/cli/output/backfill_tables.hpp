// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/output/table.hpp"
#include "workloads/backfill/plan.hpp"

namespace autopilot::cli {

struct BackfillResult {
  workloads::backfill::Cluster cluster;
  std::vector<workloads::backfill::HeldGpus> held;
  workloads::backfill::Plan plan;
};

[[nodiscard]] std::string backfill_text(const BackfillResult& result, const TableStyle& style);
// docs/backfill.md describes its members.
[[nodiscard]] std::string backfill_json(const BackfillResult& result);

// Share of the held GPUs with samples that are idle, in percent; nullopt without samples.
[[nodiscard]] std::optional<double> idle_percent(const BackfillResult& result);

// Manifests for the jobs that backfill, by file name: a priority class that never preempts, and a patch for
// each job with that class, its nodes and its deadline.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> backfill_manifests(
    const BackfillResult& result);

}  // namespace autopilot::cli
