// SPDX-License-Identifier: Apache-2.0
#include "learning/report/report_records.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "learning/record_check.hpp"

namespace autopilot::learning {
namespace {

std::tuple<WallTime, WallTime, std::string_view> order_of(const NodeJob& job) {
  return {job.end.value_or(WallTime{}), job.start, job.failure};
}
std::tuple<WallTime, WallTime, std::string_view> order_of(const Validation& validation) {
  return {validation.end, validation.start, validation.cause};
}
std::tuple<WallTime, WallTime, std::string_view> order_of(const Fault& fault) {
  return {fault.end.value_or(WallTime{}), fault.begin, fault.text};
}
std::tuple<WallTime, WallTime, std::string_view> order_of(const Label& label) {
  return {label.time, label.time, label.note};
}
std::tuple<WallTime, WallTime, std::string_view> order_of(const Repair& repair) {
  return {repair.end.value_or(WallTime{}), repair.begin, repair.note};
}

template <class Record>
void join_by_id(std::vector<Record>& records) {
  std::ranges::stable_sort(records, [](const Record& a, const Record& b) {
    return a.id != b.id ? a.id < b.id : order_of(b) < order_of(a);
  });
  const auto repeated = std::ranges::unique(records, {}, &Record::id);
  records.erase(repeated.begin(), repeated.end());
}

struct Adder {
  ReportRecords& records;

  void operator()(NodeJob job) const { records.jobs.push_back(std::move(job)); }
  void operator()(Validation validation) const { records.validations.push_back(std::move(validation)); }
  void operator()(Fault fault) const { records.faults.push_back(std::move(fault)); }
  void operator()(Label label) const { records.labels.push_back(std::move(label)); }
  void operator()(Repair repair) const { records.repairs.push_back(std::move(repair)); }
  void operator()(const Measurement& /*measurement*/) const {}
  void operator()(const Versions& /*versions*/) const {}
};

}  // namespace

std::size_t ReportRecords::size() const {
  return jobs.size() + validations.size() + faults.size() + labels.size() + repairs.size();
}

std::string node_key(const Place& place) {
  return place.cluster.empty() ? place.node : place.cluster + "/" + place.node;
}

Status add_record(ReportRecords& records, HistoryRecord record) {
  if (records.size() >= ReportRecords::kMostRecords)
    return fail(Errc::exhausted,
                "more than " + std::to_string(ReportRecords::kMostRecords) + " records of history");
  const WallTime begin = begin_of(record);
  const auto [seen, is_new] = records.first_seen.emplace(node_key(place_of(record)), begin);
  if (records.first_seen.size() > ReportRecords::kMostKnownNodes)
    return fail(Errc::exhausted,
                "more than " + std::to_string(ReportRecords::kMostKnownNodes) + " nodes in history");
  if (!is_new) seen->second = std::min(seen->second, begin);
  std::visit(Adder{records}, std::move(record));
  return {};
}

void join_records(ReportRecords& records) {
  join_by_id(records.jobs);
  join_by_id(records.validations);
  join_by_id(records.faults);
  join_by_id(records.labels);
  join_by_id(records.repairs);
}

bool is_own_fault(const Fault& fault) {
  const bool is_merged = fault.confidence == 0 && fault.text.starts_with("part of ");
  return !is_merged && fault.health != Health::healthy;
}

}  // namespace autopilot::learning
