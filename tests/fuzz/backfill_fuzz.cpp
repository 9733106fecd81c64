// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cli/output/backfill_tables.hpp"
#include "core/result.hpp"
#include "tests/fuzz/targets.hpp"
#include "workloads/backfill/plan.hpp"

namespace autopilot::backfill_fuzz {

namespace bf = workloads::backfill;

// Any file is refused with a place, or gives a plan in which no node is asked for more than it has.
int run(const std::uint8_t* data, std::size_t size) {
  const auto cluster = bf::parse_cluster({reinterpret_cast<const char*>(data), size}, "file");
  if (!cluster) return 0;
  cli::BackfillResult result{*cluster, bf::held_gpus(*cluster), bf::plan_of(*cluster, {})};
  AUTOPILOT_ASSERT(result.plan.jobs.size() == cluster->pending.size());
  for (std::size_t i = 0; i < result.plan.jobs.size(); ++i) {
    const bf::PlannedJob& job = result.plan.jobs[i];
    AUTOPILOT_ASSERT(job.nodes.empty() ||
                     job.nodes.size() == static_cast<std::size_t>(cluster->pending[i].nodes));
    AUTOPILOT_ASSERT(std::isfinite(job.gpu_hours) && job.gpu_hours >= 0);
  }
  for (const bf::Capacity& free : bf::free_of(*cluster))
    AUTOPILOT_ASSERT(free.gpus >= -1e-6);
  static_cast<void>(cli::backfill_text(result, {}));
  static_cast<void>(cli::backfill_json(result));
  static_cast<void>(cli::backfill_manifests(result));
  return 0;
}

}  // namespace autopilot::backfill_fuzz
