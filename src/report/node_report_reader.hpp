// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/operation.hpp"
#include "core/result.hpp"
#include "incidents/node_state.hpp"
#include "incidents/verdict.hpp"

namespace autopilot::report {

// State that a new agent takes over from the report of an earlier agent.
struct NodeReport {
  std::string node;
  std::string boot_id;
  bool simulated = false;
  WallTime observed_at{};
  incidents::SavedState saved;
  std::optional<incidents::WrittenVerdict> written;
  std::vector<PassRecord> pass_records;
};

// Parses the object of the API server. Leaves out closed incidents, ignores unknown members, and leaves
// members empty that an older version did not write. malformed, with the place ("status.incidents[3].id:
// ..."): not such an object, or larger than a report can be. Pure.
[[nodiscard]] Result<NodeReport> parse_report(std::string_view json);

// An object of the API has at most about 1.5 MiB.
inline constexpr std::size_t kLargestObject = std::size_t{2} << 20;

}  // namespace autopilot::report
