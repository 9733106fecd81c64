// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "core/operation.hpp"
#include "core/snapshot.hpp"
#include "incidents/node_state.hpp"
#include "incidents/verdict.hpp"

// The report of a node: the object in which its cluster finds what is known of it, and a new agent what an
// earlier one knew (node_report_reader.hpp). deploy/helm/autopilot/crds/nodehealthreports.yaml describes
// every field.
namespace autopilot::report {

inline constexpr std::string_view kReportApiVersion = "autopilot.ibm.com/v1alpha1";
inline constexpr std::string_view kReportKind = "NodeHealthReport";
[[nodiscard]] std::string report_path(std::string_view name_space, std::string_view node);

struct ReportInput {
  const NodeSnapshot& snapshot;
  const incidents::SavedState& saved;  // state for a new agent; its incidents are the reported ones
  const incidents::WrittenVerdict& written;
  std::span<const PassRecord> pass_records;
  std::string_view name_space;
  std::string_view node_uid;  // of the Node object, which owns the report; empty: no owner
  std::string why_evicted{};  // see incidents::why_it_stays
};

// JSON on one line, at most kMaxReportBytes: incidents that evict first, then failed incidents, then the
// newest, each with its findings; of pass records the newest. States how many are left out. Equal input gives
// equal text. Pure.
inline constexpr std::size_t kMaxReportBytes = std::size_t{128} << 10;
[[nodiscard]] std::string report_text(const ReportInput& input);

// True if two reports differ in more than times and counters of the state machine. Pure.
[[nodiscard]] bool is_news(std::string_view before, std::string_view after);

}  // namespace autopilot::report
