// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checks/check.hpp"
#include "core/operation.hpp"
#include "core/result.hpp"
#include "incidents/verdict.hpp"
#include "runtime/runtime.hpp"
#include "store/journal.hpp"

namespace autopilot::report {

// State of the journal that the runtime needs at its start.
[[nodiscard]] Result<runtime::Remembered> recall(const store::Journal& journal, const std::string& boot_id,
                                                 std::span<const checks::Check> checks);

// Last state that was written to the cluster.
struct ClusterMemory {
  std::optional<incidents::WrittenVerdict> written;  // not set: not known
  std::vector<PassRecord> pass_records;
  // The journal had no earlier state, and the report of an earlier agent has not been read from the cluster.
  bool is_report_unread = false;
  // `checked-by` of the last agent that wrote with this journal; empty: not known.
  std::string last_instance = {};
  // Later writes may be missing here: see runtime::Remembered::lost.
  bool is_incomplete = false;
};
[[nodiscard]] ClusterMemory cluster_memory(const runtime::LastingFacts& facts);

// The journal's name of the written verdict.
inline constexpr std::string_view kWrittenVerdict = "written_verdict";
// The journal's name of ClusterMemory::last_instance.
inline constexpr std::string_view kLastInstance = "cluster.instance";
// "true": see ClusterMemory::is_report_unread.
inline constexpr std::string_view kReportUnread = "report.unread";

}  // namespace autopilot::report
