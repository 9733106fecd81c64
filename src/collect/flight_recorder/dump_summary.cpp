// SPDX-License-Identifier: Apache-2.0
#include "collect/flight_recorder/dump_summary.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace autopilot::collect {
namespace {

struct RankInGroup {
  int rank = 0;
  const DumpGroup* group = nullptr;
};

// By name and members: a name alone may mean different groups on different ranks.
using GroupKey = std::pair<std::string, std::vector<int>>;

std::string count_text(std::optional<std::int64_t> count) {
  return count ? std::to_string(*count) : "unknown";
}

std::string operation_text(const DumpOperation& operation, const std::string& kind) {
  return "waits in " + kind + " " + std::to_string(operation.sequence) +
         (operation.name.empty() ? "" : " " + operation.name) +
         (operation.state.empty() ? "" : " (" + operation.state + ")") + "; ";
}

std::string rank_line(const RankInGroup& one) {
  std::string line = "  rank " + std::to_string(one.rank) + ": ";
  if (one.group->open_collective) line += operation_text(*one.group->open_collective, "collective");
  if (one.group->open_p2p) line += operation_text(*one.group->open_p2p, "send or receive");
  return line + "last collective enqueued " + count_text(one.group->enqueued) + ", completed " +
         count_text(one.group->completed) + "\n";
}

std::optional<std::int64_t> last_enqueued(const std::vector<RankInGroup>& ranks) {
  std::optional<std::int64_t> last;
  for (const RankInGroup& one : ranks)
    if (one.group->enqueued && (!last || *one.group->enqueued > *last)) last = one.group->enqueued;
  return last;
}

// Empty: no known rank is behind.
std::string behind_line(const std::vector<RankInGroup>& ranks) {
  const auto last = last_enqueued(ranks);
  if (!last) return {};
  std::string behind;
  for (const RankInGroup& one : ranks)
    if (one.group->enqueued && one.group->enqueued < last)
      behind += (behind.empty() ? "" : ", ") + std::to_string(one.rank);
  if (behind.empty()) return {};
  return "  not enqueued collective " + std::to_string(*last) + ": rank " + behind + "\n";
}

bool has_open_operation(const std::vector<RankInGroup>& ranks) {
  return std::ranges::any_of(
      ranks, [](const RankInGroup& one) { return one.group->open_collective || one.group->open_p2p; });
}

std::string group_head(const GroupKey& key, const DumpGroup& group, std::size_t dumps) {
  const std::string members =
      key.second.empty() ? "an unknown number of ranks" : std::to_string(key.second.size()) + " ranks";
  return "process group " + key.first + (group.description.empty() ? "" : " (" + group.description + ")") +
         ", " + members + ", dumps of " + std::to_string(dumps) + "\n";
}

}  // namespace

std::string summarise_dumps(const std::vector<RankDump>& dumps) {
  std::map<GroupKey, std::vector<RankInGroup>> groups;
  for (const RankDump& dump : dumps)
    for (const DumpGroup& group : dump.groups)
      groups[{group.name, group.ranks}].push_back({dump.rank, &group});
  std::string text;
  std::size_t shown = 0;
  std::size_t left_out = 0;
  std::size_t at_rest = 0;
  for (const auto& [key, ranks] : groups) {
    const std::string behind = behind_line(ranks);
    if (behind.empty() && !has_open_operation(ranks)) {
      ++at_rest;
      continue;
    }
    if (shown == kMostSummarisedGroups) {
      ++left_out;
      continue;
    }
    ++shown;
    text += group_head(key, *ranks.front().group, ranks.size());
    for (const RankInGroup& one : ranks)
      text += rank_line(one);
    text += behind;
  }
  if (left_out > 0) text += std::to_string(left_out) + " more process groups have open operations\n";
  if (at_rest > 0) text += std::to_string(at_rest) + " process groups have no open operation\n";
  return text;
}

}  // namespace autopilot::collect
