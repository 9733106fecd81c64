// SPDX-License-Identifier: Apache-2.0
#include "api/job_checks.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <vector>

#include "api/job_members.hpp"
#include "core/parse.hpp"

namespace autopilot::api::job_format {
namespace {

std::optional<MemberProblem> find_order_problem(WallTime begin, WallTime end) {
  if (end >= begin) return std::nullopt;
  return MemberProblem{"end", "earlier than t"};
}

MemberProblem wrong_length(std::string member, std::size_t expected, std::size_t found) {
  return {std::move(member),
          "expected " + std::to_string(expected) + " values, found " + std::to_string(found)};
}

}  // namespace

std::optional<MemberProblem> find_problem(const jobs::JobRecord& record) {
  std::vector<bool> seen(kMaxRanks);
  for (std::size_t i = 0; i < record.ranks.size(); ++i) {
    const auto rank = static_cast<std::size_t>(record.ranks[i].rank);
    if (seen[rank])
      return MemberProblem{"ranks[" + std::to_string(i) + "].rank",
                           "rank " + std::to_string(rank) + " appears twice"};
    seen[rank] = true;
  }
  return std::nullopt;
}

std::optional<MemberProblem> find_problem(const jobs::WindowRecord& record) {
  const auto seconds = static_cast<std::size_t>(std::llround(to_seconds(record.length)));
  for (std::size_t i = 0; i < record.fast.size(); ++i)
    if (const std::size_t found = record.fast[i].power_w.size(); found != seconds)
      return wrong_length("fast[" + std::to_string(i) + "].power_w", seconds, found);
  return std::nullopt;
}

std::optional<MemberProblem> find_problem(const jobs::Communicator& record) {
  if (record.started.size() != record.ranks.size())
    return wrong_length("started", record.ranks.size(), record.started.size());
  if (!record.completed.empty() && record.completed.size() != record.ranks.size())
    return wrong_length("completed", record.ranks.size(), record.completed.size());
  return std::nullopt;
}

std::optional<MemberProblem> find_problem(const jobs::FaultLabel& label) {
  return find_order_problem(label.onset, label.end);
}

std::optional<MemberProblem> find_problem(const jobs::ConfounderLabel& label) {
  return find_order_problem(label.begin, label.end);
}

std::optional<MemberProblem> find_problem(const LabelledTime& label) {
  return find_order_problem(label.begin, label.end);
}

bool is_subject(std::string_view text) {
  if (text == "host") return true;
  if (text.starts_with("nic/")) return text.size() > 4;
  if (!text.starts_with("gpu/")) return false;
  const auto index = parse_number<unsigned>(text.substr(4));
  return index && *index <= static_cast<unsigned>(kHighestIndex);
}

bool is_name(std::string_view text) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F, which terminals obey, begin with 0xC2.
    const bool is_second_control =
        byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (byte < 0x20 || byte == 0x7F || is_second_control) return false;
    if ((byte & 0xC0U) != 0x80U) ++characters;
  }
  return characters >= 1 && characters <= kLongestName;
}

}  // namespace autopilot::api::job_format
