// SPDX-License-Identifier: Apache-2.0
#include "core/operation.hpp"

#include "core/word_table.hpp"

namespace autopilot {
namespace {

constexpr WordTable<OperationState, 7> kOperationStateWords{{
    {OperationState::queued, "queued"},
    {OperationState::running, "running"},
    {OperationState::succeeded, "succeeded"},
    {OperationState::failed, "failed"},
    {OperationState::cancelled, "cancelled"},
    {OperationState::timed_out, "timed_out"},
    {OperationState::skipped, "skipped"},
}};

}  // namespace

std::string_view to_string(OperationState state) {
  return word_of(kOperationStateWords, state);
}

std::optional<OperationState> parse_operation_state(std::string_view word) {
  return value_of(kOperationStateWords, word);
}

bool is_same_test(const PassRecord& a, const PassRecord& b) {
  return a.gpu_uuid == b.gpu_uuid && a.test == b.test;
}

void add_pass_records(std::vector<PassRecord>& records, const std::vector<PassRecord>& news) {
  for (const PassRecord& record : news) {
    std::erase_if(records, [&record](const PassRecord& old) { return is_same_test(old, record); });
    records.push_back(record);
  }
}

}  // namespace autopilot
