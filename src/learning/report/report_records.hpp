// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "learning/records.hpp"

// What a report reads of the histories of one node or of many.
namespace autopilot::learning {

struct ReportRecords {
  static constexpr std::size_t kMostRecords = 1'000'000;
  static constexpr std::size_t kMostKnownNodes = 100'000;

  std::vector<NodeJob> jobs;
  std::vector<Validation> validations;
  std::vector<Fault> faults;
  std::vector<Label> labels;
  std::vector<Repair> repairs;
  // Begin of the first record of each node, of any type: the node is known from then on.
  std::map<std::string, WallTime, std::less<>> first_seen;

  [[nodiscard]] std::size_t size() const;
};

// "cluster/node", or the node if its cluster is unknown.
[[nodiscard]] std::string node_key(const Place& place);

// exhausted: kMostRecords records are there, or more nodes than kMostKnownNodes.
[[nodiscard]] Status add_record(ReportRecords& records, HistoryRecord record);

// Sorts by id, and leaves one record of each type and id: the one with the latest end, then begin, then text.
// Histories that share records are joined by it, in any order.
void join_records(ReportRecords& records);

// A fault of a node. False for a fault that was merged into another one, and for driver records without
// consequence (health `healthy`).
[[nodiscard]] bool is_own_fault(const Fault& fault);

}  // namespace autopilot::learning
