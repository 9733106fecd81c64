// SPDX-License-Identifier: Apache-2.0
#include "why/evidence.hpp"

#include <algorithm>
#include <string_view>
#include <variant>

#include "core/parse.hpp"
#include "core/value.hpp"
#include "core/word_table.hpp"

namespace autopilot::why {
namespace {

std::optional<std::int64_t> number_in(const Finding& finding, std::string_view name) {
  const Value* value = find_attribute(finding.evidence, name);
  if (value == nullptr) return std::nullopt;
  const auto number = as_number(*value);
  return number ? std::optional(static_cast<std::int64_t>(*number)) : std::nullopt;
}

// A shorter container id is the beginning that tools print.
bool is_same_container(std::string_view wanted, std::string_view other) {
  constexpr std::size_t kShortest = 8;
  return wanted.size() >= kShortest && !other.empty() && other.starts_with(wanted);
}

}  // namespace

std::string_view to_string(Kind kind) {
  static constexpr WordTable<Kind, 10> kWords{{{Kind::machine_ended, "machine_ended"},
                                               {Kind::killed_for_memory, "killed_for_memory"},
                                               {Kind::device_error, "device_error"},
                                               {Kind::blocked, "blocked"},
                                               {Kind::stopped, "stopped"},
                                               {Kind::shortage, "shortage"},
                                               {Kind::crashed, "crashed"},
                                               {Kind::reported_end, "reported_end"},
                                               {Kind::program_error, "program_error"},
                                               {Kind::state, "state"}}};
  return word_of(kWords, kind);
}

std::int64_t count_of(const Evidence& evidence) {
  return std::max<std::int64_t>(1, number_in(evidence.finding, "count").value_or(1));
}

bool has_time(const Evidence& evidence) {
  return evidence.finding.since != WallTime{};
}

WallTime last_of(const Evidence& evidence) {
  return std::max(evidence.finding.since, evidence.finding.last_seen);
}

std::int64_t pid_of(const Evidence& evidence) {
  const Value* value = find_attribute(evidence.finding.evidence, "pid");
  if (value == nullptr) return 0;
  if (const auto* text = std::get_if<std::string>(value))
    return parse_number<std::int64_t>(*text).value_or(0);
  return number_in(evidence.finding, "pid").value_or(0);
}

std::string process_of(const Evidence& evidence) {
  const Value* value = find_attribute(evidence.finding.evidence, "process");
  return value == nullptr ? std::string() : autopilot::to_string(*value);
}

std::optional<std::int64_t> code_of(const Evidence& evidence) {
  return number_in(evidence.finding, "code");
}

bool is_same_owner(const GpuUserOwner& wanted, const GpuUserOwner& other) {
  if (!wanted.job.empty() && wanted.job == other.job) return true;
  if (!wanted.container.empty() && is_same_container(wanted.container, other.container)) return true;
  if (wanted.pod_namespace.empty() && wanted.pod_uid.empty() && !wanted.pod.empty())
    return wanted.pod == other.pod;
  return is_same_pod(wanted, other);
}

}  // namespace autopilot::why
