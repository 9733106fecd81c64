// SPDX-License-Identifier: Apache-2.0
#include "cli/output/group_table.hpp"

#include <utility>
#include <vector>

#include "cli/output/columns.hpp"
#include "cli/output/gigabits.hpp"
#include "cli/output/paint.hpp"
#include "core/attribute_text.hpp"
#include "core/value.hpp"

namespace autopilot::cli {
namespace {

Row row_of(const Observation& group) {
  const auto rate = group.value ? as_number(*group.value) : std::nullopt;
  return {{group.subject.key},
          {attribute_text(group, "nodes")},
          {attribute_text(group, "ranks")},
          {rate ? gigabits(*rate) : "?"},
          {rate ? attribute_text(group, "members") : attribute_text(group, "error")}};
}

// The subject is the node whose GPU got the wrong sum, or the group if the node is not known.
Row wrong_row_of(const Observation& wrong) {
  const std::string group = attribute_text(wrong, "group");
  const std::string at = wrong.subject.key == group ? "" : wrong.subject.key + ": ";
  return {{group}, {}, {}, {"!", color_of(Health::degraded)}, {at + attribute_text(wrong, "problem")}};
}

}  // namespace

std::string render_groups(const Observations& observations, const TableStyle& style) {
  std::vector<Row> rows;
  for (const Observation& one : observations) {
    if (one.name == "group.bus") rows.push_back(row_of(one));
    if (one.name == "group.wrong") rows.push_back(wrong_row_of(one));
  }
  if (rows.empty()) return "";
  return render_columns({"ALL-REDUCE", "NODES", "GPUS", "GBIT/S", "MEMBERS, OR ERROR"}, std::move(rows),
                        style);
}

}  // namespace autopilot::cli
