// SPDX-License-Identifier: Apache-2.0
#include "core/operation.hpp"

#include <array>

namespace autopilot {
namespace {

constexpr std::array<std::pair<OperationState, std::string_view>, 6> kStateWords{{
    {OperationState::queued, "queued"},
    {OperationState::running, "running"},
    {OperationState::succeeded, "succeeded"},
    {OperationState::failed, "failed"},
    {OperationState::cancelled, "cancelled"},
    {OperationState::timed_out, "timed_out"},
}};

}  // namespace

std::string_view to_string(OperationState state) {
  for (const auto& [value, word] : kStateWords)
    if (value == state) return word;
  return "failed";
}

std::optional<OperationState> parse_operation_state(std::string_view word) {
  for (const auto& [value, name] : kStateWords)
    if (name == word) return value;
  return std::nullopt;
}

}  // namespace autopilot
