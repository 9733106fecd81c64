// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <chrono>

#include "jobs/detectors/collectives.hpp"

// Which ranks the others wait for. A rank waits in a communicator if it started its newest collective and
// another member did not. That member is late; if it waits elsewhere itself, this communicator is downstream.
namespace autopilot::jobs {
namespace {

constexpr Duration kSameTime = std::chrono::seconds(30);  // counts are read that often

std::int64_t highest_count(const std::vector<std::int64_t>& counts) {
  return *std::max_element(counts.begin(), counts.end());
}

// A rank with an unknown count may be late.
bool may_have_late_rank(const std::vector<std::int64_t>& counts) {
  const std::int64_t highest = highest_count(counts);
  return std::any_of(counts.begin(), counts.end(), [&](auto count) { return count < highest; });
}

bool has_unknown_count(const std::vector<std::int64_t>& counts) {
  return std::any_of(counts.begin(), counts.end(), [](auto count) { return count < 0; });
}

// A late rank that does not wait elsewhere, with the number of communicators in which it is.
struct LateRank {
  int rank = 0;
  std::int64_t behind_by = 0;
  int communicators = 0;
};

}  // namespace

CollectiveBlame CollectiveTracker::blame_behind(const std::vector<const Entry*>& mismatched) {
  std::vector<int> waiting;
  for (const Entry* entry : mismatched) {
    const Tracked& tracked = entry->second;
    const std::int64_t highest = highest_count(tracked.started);
    for (std::size_t i = 0; i < tracked.ranks.size(); ++i)
      if (tracked.started[i] == highest) waiting.push_back(tracked.ranks[i]);
  }
  std::sort(waiting.begin(), waiting.end());

  const Entry* earliest = nullptr;
  std::map<int, LateRank> late;
  for (const Entry* entry : mismatched) {  // ordered by the time of the last growth
    const Tracked& tracked = entry->second;
    if (earliest && tracked.advanced - earliest->second.advanced > kSameTime) break;
    const std::int64_t highest = highest_count(tracked.started);
    for (std::size_t i = 0; i < tracked.ranks.size(); ++i) {
      const std::int64_t count = tracked.started[i];
      if (count < 0 || count == highest) continue;
      if (std::binary_search(waiting.begin(), waiting.end(), tracked.ranks[i])) continue;
      if (!earliest) earliest = entry;
      LateRank& found = late[tracked.ranks[i]];
      found.rank = tracked.ranks[i];
      found.behind_by = std::max(found.behind_by, highest - count);
      ++found.communicators;
    }
  }
  CollectiveBlame blame;
  if (!earliest) {
    const bool has_unknown = std::any_of(mismatched.begin(), mismatched.end(), [](const Entry* entry) {
      return has_unknown_count(entry->second.started);
    });
    if (mismatched.size() >= 2 && !has_unknown) blame.reason = BlameReason::deadlock;
    return blame;
  }
  int most = 0;
  for (const auto& [rank, found] : late)
    most = std::max(most, found.communicators);
  for (const auto& [rank, found] : late) {
    if (found.communicators < most) continue;
    blame.behind_by = std::max(blame.behind_by.value_or(0), found.behind_by);
  }
  for (const auto& [rank, found] : late)
    if (found.communicators == most && found.behind_by == *blame.behind_by) blame.ranks.push_back(rank);
  blame.reason = BlameReason::behind;
  blame.communicator = earliest->first.second;
  blame.size = earliest->second.size;
  blame.blocked_since = earliest->second.advanced;
  return blame;
}

CollectiveBlame CollectiveTracker::blame_counts(const std::vector<const Entry*>& entries) const {
  std::vector<const Entry*> ordered = entries;
  std::stable_sort(ordered.begin(), ordered.end(), [](const Entry* left, const Entry* right) {
    return left->second.advanced < right->second.advanced;
  });
  std::vector<const Entry*> mismatched;
  const Entry* equal = nullptr;
  for (const Entry* entry : ordered) {
    if (may_have_late_rank(entry->second.started)) {
      mismatched.push_back(entry);
    } else if (!equal && is_frozen(entry->second)) {
      equal = entry;
    }
  }
  if (!mismatched.empty()) return blame_behind(mismatched);
  CollectiveBlame blame;
  if (!equal) return blame;
  blame.reason = BlameReason::all_started;
  blame.communicator = equal->first.second;
  blame.size = equal->second.size;
  blame.blocked_since = equal->second.advanced;
  return blame;
}

CollectiveBlame CollectiveTracker::blame(WallTime now) const {
  const CollectiveStatus present = status(now);
  if (!present.dead.empty()) return {BlameReason::dead, present.dead, {}, 0, {}, {}};
  if (!present.unresponsive.empty()) return {BlameReason::unresponsive, present.unresponsive, {}, 0, {}, {}};
  for (const CountSource source :
       std::array{CountSource::ras, CountSource::flight_recorder, CountSource::inspector}) {
    std::vector<const Entry*> entries;
    for (const Entry& entry : tracked_) {
      const Tracked& tracked = entry.second;
      // A flight recorder writes its records once, when the job hangs.
      const bool is_still =
          tracked.unchanged > 0 || (source == CountSource::flight_recorder && tracked.advances == 0);
      if (entry.first.first == source && is_still && *newest_ - tracked.seen <= kSameTime)
        entries.push_back(&entry);
    }
    CollectiveBlame blame = blame_counts(entries);
    if (blame.reason != BlameReason::none) return blame;
  }
  return {};
}

}  // namespace autopilot::jobs
