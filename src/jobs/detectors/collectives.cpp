// SPDX-License-Identifier: Apache-2.0
#include "jobs/detectors/collectives.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <tuple>

namespace autopilot::jobs {
namespace {

constexpr double kDueIncrements = 20;  // reference 2a.6, P5
constexpr int kEnoughAdvances = 5;     // until the pace is known
constexpr int kUnchangedRecords = 2;   // one may be read between two collectives
constexpr double kPaceWeight = 0.2;
constexpr double kQuietMargin = 1.5;  // of the second longest healthy time without growth
constexpr Duration kForgetAfter = std::chrono::minutes(10);
constexpr Duration kStaleAfter = std::chrono::seconds(90);
constexpr Duration kRecent = std::chrono::seconds(30);
constexpr int kMaxRank = 65535;
constexpr std::int64_t kUnknownCount = -1;

bool is_ascending(const std::vector<int>& ranks) {
  return std::adjacent_find(ranks.begin(), ranks.end(), std::greater_equal<>()) == ranks.end();
}

bool has_unique_ranks(const std::vector<int>& ranks) {
  if (is_ascending(ranks)) return true;
  std::vector<int> sorted = ranks;
  std::sort(sorted.begin(), sorted.end());
  return is_ascending(sorted);
}

bool are_ranks(const std::vector<int>& ranks) {
  return std::all_of(ranks.begin(), ranks.end(), [](int rank) { return rank >= 0 && rank <= kMaxRank; });
}

void sort_unique(std::vector<int>& ranks) {
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
}

std::vector<int> without(const std::vector<int>& ranks, const std::vector<int>& removed) {
  std::vector<int> kept;
  std::set_difference(ranks.begin(), ranks.end(), removed.begin(), removed.end(), std::back_inserter(kept));
  return kept;
}

// Members of a communicator, by rank.
struct Members {
  std::vector<int> ranks;  // ascending
  std::vector<std::int64_t> started;
};

Members members_of(const Communicator& communicator) {
  Members members;
  members.ranks = communicator.ranks;
  members.started.reserve(communicator.ranks.size());
  for (const auto& count : communicator.started)
    members.started.push_back(count.value_or(kUnknownCount));
  if (is_ascending(members.ranks)) return members;
  std::vector<std::pair<int, std::int64_t>> pairs;
  pairs.reserve(members.ranks.size());
  for (std::size_t i = 0; i < members.ranks.size(); ++i)
    pairs.emplace_back(members.ranks[i], members.started[i]);
  std::sort(pairs.begin(), pairs.end());
  for (std::size_t i = 0; i < pairs.size(); ++i)
    std::tie(members.ranks[i], members.started[i]) = pairs[i];
  return members;
}

// A rank that is not listed any more remains a member with an unknown count: a rank that does not answer is
// missing in the list.
Members united(const Members& before, const Members& now) {
  if (before.ranks == now.ranks) return now;
  Members all;
  std::size_t old = 0;
  std::size_t fresh = 0;
  while (old < before.ranks.size() || fresh < now.ranks.size()) {
    const bool takes_old =
        fresh == now.ranks.size() || (old < before.ranks.size() && before.ranks[old] < now.ranks[fresh]);
    if (!takes_old && old < before.ranks.size() && before.ranks[old] == now.ranks[fresh]) ++old;
    all.ranks.push_back(takes_old ? before.ranks[old] : now.ranks[fresh]);
    all.started.push_back(takes_old ? kUnknownCount : now.started[fresh]);
    ++(takes_old ? old : fresh);
  }
  return all;
}

// Adds the ranks that started a collective to `grown`.
CollectiveChange change_of(const Members& before, const Members& now, std::vector<int>& grown) {
  CollectiveChange change;
  std::int64_t highest_before = 0;
  std::int64_t highest_now = 0;
  std::size_t old = 0;
  for (std::size_t i = 0; i < now.ranks.size(); ++i) {
    while (old < before.ranks.size() && before.ranks[old] < now.ranks[i])
      ++old;
    const bool was_member = old < before.ranks.size() && before.ranks[old] == now.ranks[i];
    const std::int64_t former = was_member ? before.started[old] : kUnknownCount;
    highest_before = std::max(highest_before, former);
    highest_now = std::max(highest_now, now.started[i]);
    if (former == kUnknownCount || now.started[i] == kUnknownCount) continue;
    if (now.started[i] < former) change.has_fallen = true;
    if (now.started[i] <= former) continue;
    change.has_grown = true;
    grown.push_back(now.ranks[i]);
  }
  change.growth = highest_now - highest_before;
  return change;
}

}  // namespace

bool CollectiveTracker::is_consistent(const Communicator& communicator) {
  const std::size_t members = communicator.ranks.size();
  if (communicator.id.empty() || communicator.started.size() != members) return false;
  if (!communicator.completed.empty() && communicator.completed.size() != members) return false;
  if (communicator.size < 0 ||
      (communicator.size > 0 && static_cast<std::size_t>(communicator.size) < members))
    return false;
  if (!are_ranks(communicator.ranks) || !are_ranks(communicator.missing) || !are_ranks(communicator.dead))
    return false;
  for (std::size_t i = 0; i < members; ++i) {
    const auto& started = communicator.started[i];
    if (started && *started < 0) return false;
    if (communicator.completed.empty() || !communicator.completed[i]) continue;
    if (*communicator.completed[i] < 0 || (started && *communicator.completed[i] > *started)) return false;
  }
  return has_unique_ranks(communicator.ranks);
}

bool CollectiveTracker::make_room(std::size_t members, WallTime now) {
  if (members > limits_.members || limits_.communicators == 0) return false;
  while (tracked_.size() >= limits_.communicators || members_ + members > limits_.members) {
    std::vector<WallTime> times;
    for (const auto& [key, tracked] : tracked_)
      if (tracked.seen < now) times.push_back(tracked.seen);
    if (times.empty()) return false;
    const auto quarter = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 4);
    std::nth_element(times.begin(), quarter, times.end());
    const WallTime limit = *quarter;
    std::erase_if(tracked_, [&](const Entry& entry) {
      if (entry.second.seen > limit) return false;
      members_ -= entry.second.ranks.size();
      ++dropped_;
      return true;
    });
  }
  return true;
}

void CollectiveTracker::note_change(Tracked& held, const CollectiveChange& change, WallTime time) {
  const bool is_later = time > held.seen;
  held.seen = time;
  if (!change.has_grown) {
    if (is_later) ++held.unchanged;
    return;
  }
  const double since_growth = to_seconds(time - held.advanced);
  if (change.growth > 0 && since_growth > 0) {
    const double pace = static_cast<double>(change.growth) / since_growth;
    const double weight = std::max(kPaceWeight, 1.0 / (1 + held.advances));
    held.rate_per_s += weight * (pace - held.rate_per_s);
    ++held.advances;
  }
  const double quiet = held.unchanged > 0 ? since_growth : 0;
  held.second_quiet_s = std::max(held.second_quiet_s, std::min(quiet, held.longest_quiet_s));
  held.longest_quiet_s = std::max(held.longest_quiet_s, quiet);
  held.advanced = time;
  held.unchanged = 0;
}

void CollectiveTracker::update(const Communicator& communicator, const CollectivesRecord& record,
                               std::vector<int>& grown) {
  if (communicator.ranks.empty()) return;
  const Key key{record.source, communicator.id};
  auto found = tracked_.find(key);
  Members now = members_of(communicator);
  if (found != tracked_.end()) {
    Tracked& held = found->second;
    const Members before{std::move(held.ranks), std::move(held.started)};
    members_ -= before.ranks.size();
    now = united(before, now);
    const CollectiveChange change = change_of(before, now, grown);
    const bool is_same =
        held.size == communicator.size && !change.has_fallen &&
        (communicator.size == 0 || now.ranks.size() <= static_cast<std::size_t>(communicator.size));
    if (is_same && members_ + now.ranks.size() <= limits_.members) {
      note_change(held, change, record.time);
      members_ += now.ranks.size();
      held.ranks = std::move(now.ranks);
      held.started = std::move(now.started);
      return;
    }
    tracked_.erase(found);
    now = members_of(communicator);
  }
  if (!make_room(now.ranks.size(), record.time)) {
    ++dropped_;
    return;
  }
  Tracked fresh;
  members_ += now.ranks.size();
  fresh.ranks = std::move(now.ranks);
  fresh.started = std::move(now.started);
  fresh.size = communicator.size;
  fresh.seen = fresh.advanced = record.time;
  tracked_.emplace(key, std::move(fresh));
}

// A rank that starts collectives is neither dead nor missing, whatever a list states.
void CollectiveTracker::note_absent(const CollectivesRecord& record, std::vector<int>& grown) {
  Absent absent;
  for (const Communicator& communicator : record.communicators) {
    if (!is_consistent(communicator)) continue;
    absent.dead.insert(absent.dead.end(), communicator.dead.begin(), communicator.dead.end());
    absent.unresponsive.insert(absent.unresponsive.end(), communicator.missing.begin(),
                               communicator.missing.end());
  }
  sort_unique(grown);
  sort_unique(absent.dead);
  sort_unique(absent.unresponsive);
  absent.dead = without(absent.dead, grown);
  absent.unresponsive = without(without(absent.unresponsive, grown), absent.dead);
  absent_[record.source] = std::move(absent);
}

void CollectiveTracker::forget_old(CountSource source) {
  std::erase_if(tracked_, [&](const Entry& entry) {
    if (entry.first.first != source || *newest_ - entry.second.seen <= kForgetAfter) return false;
    members_ -= entry.second.ranks.size();
    return true;
  });
}

void CollectiveTracker::add(const CollectivesRecord& record) {
  if (newest_ && record.time < *newest_) return;
  newest_ = record.time;
  std::vector<int> grown;
  for (const Communicator& communicator : record.communicators) {
    if (is_consistent(communicator)) {
      update(communicator, record, grown);
    } else {
      ++contradictions_;
    }
  }
  note_absent(record, grown);
  forget_old(record.source);
}

bool CollectiveTracker::is_frozen(const Tracked& tracked) {
  if (tracked.advances < kEnoughAdvances || tracked.unchanged < kUnchangedRecords) return false;
  const double quiet = to_seconds(tracked.seen - tracked.advanced);
  return quiet * tracked.rate_per_s >= kDueIncrements && quiet > kQuietMargin * tracked.second_quiet_s;
}

CollectiveStatus CollectiveTracker::status(WallTime now) const {
  CollectiveStatus status;
  status.communicators = tracked_.size();
  bool has_growing = false;
  bool has_frozen = false;
  for (const auto& [key, tracked] : tracked_) {
    if (tracked.advances == 0) continue;
    if (!status.last_advance || tracked.advanced > *status.last_advance)
      status.last_advance = tracked.advanced;
    status.rate_per_s = std::max(status.rate_per_s.value_or(0), tracked.rate_per_s);
    if (now - tracked.seen > kStaleAfter) continue;
    has_growing = has_growing || (tracked.unchanged == 0 && *newest_ - tracked.seen <= kRecent);
    has_frozen = has_frozen || is_frozen(tracked);
  }
  if (has_growing) {
    status.frozen = false;
  } else if (has_frozen) {
    status.frozen = true;
  }
  if (newest_ && now - *newest_ > kStaleAfter) return status;
  for (const auto& [source, absent] : absent_) {
    status.dead.insert(status.dead.end(), absent.dead.begin(), absent.dead.end());
    status.unresponsive.insert(status.unresponsive.end(), absent.unresponsive.begin(),
                               absent.unresponsive.end());
  }
  sort_unique(status.dead);
  sort_unique(status.unresponsive);
  return status;
}

void CollectiveTracker::restart() {
  tracked_.clear();
  absent_.clear();
  members_ = 0;
  newest_ = std::nullopt;
}

}  // namespace autopilot::jobs
