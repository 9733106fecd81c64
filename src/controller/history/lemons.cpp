// SPDX-License-Identifier: Apache-2.0
#include "controller/history/lemons.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "learning/report/lemon_list.hpp"

namespace autopilot::controller {
namespace {

constexpr Duration kCounted = std::chrono::days(static_cast<int>(learning::LemonList::kMostDays));

Result<learning::ReportRecords> faults_in(const store::History& history, WallTime now) {
  learning::ReportRecords records;
  Status added;
  TRY_STATUS(history.visit({.types = {"fault", "label"}, .since = now - kCounted, .until = now},
                           [&](learning::HistoryRecord record) {
                             added = learning::add_record(records, std::move(record));
                             return added.has_value();
                           }));
  if (!added) return fail(added.error());
  learning::join_records(records);
  return records;
}

// By node: the begin of its last own fault.
std::map<std::string, WallTime, std::less<>> last_faults(const learning::ReportRecords& records) {
  std::map<std::string, WallTime, std::less<>> last;
  for (const learning::Fault& fault : records.faults)
    if (learning::is_own_fault(fault) && !learning::is_of_job(fault)) {
      WallTime& begin = last[learning::node_key(fault.place)];
      begin = std::max(begin, fault.begin);
    }
  return last;
}

}  // namespace

Result<LemonSearch> find_lemons(const store::History& history, const std::vector<std::string>& nodes,
                                WallTime now) {
  learning::ReportRecords records = TRY(faults_in(history, now));
  const WallTime oldest = TRY(history.status()).oldest.value_or(now);
  // A node without a record is known as long as the history.
  for (const std::string& node : nodes)
    records.first_seen.emplace(node, oldest);
  const learning::LemonList list = TRY(learning::lemon_list(records, now));
  LemonSearch search{.lemons = {}, .last_faults = last_faults(records)};
  for (const learning::LemonRow& row : list.rows) {
    const auto fault = search.last_faults.find(row.node);
    const bool has_fault = fault != search.last_faults.end();
    if (!row.plan.is_lemon || row.plan.largest_job_gpus != 0 || !has_fault) continue;
    search.lemons.push_back({.node = row.node,
                             .last_fault = fault->second,
                             .why = row.plan.reasons.front() + " (history of " + std::to_string(list.nodes) +
                                    " nodes and " + std::to_string(list.faults) + " faults)"});
  }
  return search;
}

}  // namespace autopilot::controller
