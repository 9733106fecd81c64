// SPDX-License-Identifier: Apache-2.0
#include "runtime/record_counts.hpp"

#include <string>

namespace autopilot::runtime {

std::uint64_t times_told(const Observation& record) {
  const Value* count = find_attribute(record.attributes, "count");
  const auto number = count == nullptr ? std::nullopt : as_number(*count);
  return number && *number >= 1 ? static_cast<std::uint64_t>(*number) : 1;
}

void RecordCounts::add(std::string_view check, const Observations& records) {
  for (const Observation& record : records) {
    RecordKind kind{std::string(check), record.name, record.value ? to_string(*record.value) : "",
                    record.subject};
    if (counts_.size() >= kMaxKinds && !counts_.contains(kind))
      kind = {std::string(check), "other", "", host_subject()};
    counts_[kind] += times_told(record);
  }
}

std::vector<RecordCount> RecordCounts::counts() const {
  std::vector<RecordCount> list;
  list.reserve(counts_.size());
  for (const auto& [kind, count] : counts_)
    list.push_back({kind, count});
  return list;
}

}  // namespace autopilot::runtime
