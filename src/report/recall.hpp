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

// What the journal knows that the runtime needs at its start.
[[nodiscard]] Result<runtime::Remembered> recall(const store::Journal& journal, const std::string& boot_id,
                                                 std::span<const checks::Check> checks);

// What was told to the cluster.
struct ClusterMemory {
  std::optional<incidents::WrittenVerdict> written;  // nothing: nobody knows what was written and why
  std::vector<PassRecord> pass_records;
  // Nothing of before was in the journal, and the cluster has not said what an earlier agent told it.
  bool is_report_unread = false;
  // The last agent that wrote with this journal, as it called itself on the Node object; empty: not known.
  std::string last_instance = {};
  // More may have been written than this says: see runtime::Remembered::lost.
  bool is_incomplete = false;
};
[[nodiscard]] ClusterMemory cluster_memory(const runtime::LastingFacts& facts);

// The journal's name of the written verdict.
inline constexpr std::string_view kWrittenVerdict = "written_verdict";
// That of ClusterMemory::last_instance.
inline constexpr std::string_view kLastInstance = "cluster.instance";
// "true": see ClusterMemory::is_report_unread.
inline constexpr std::string_view kReportUnread = "report.unread";

}  // namespace autopilot::report
