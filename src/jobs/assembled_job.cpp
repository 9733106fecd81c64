// SPDX-License-Identifier: Apache-2.0
#include "jobs/assembled_job.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace autopilot::jobs {
namespace {

constexpr int kNoNumber = -1;
constexpr int kRefused = -2;  // another node has this rank

bool is_same_rank(const RankRecord& a, const RankRecord& b) {
  return std::tie(a.rank, a.node, a.gpu, a.role, a.replica, a.pod, a.pid) ==
         std::tie(b.rank, b.node, b.gpu, b.role, b.replica, b.pod, b.pid);
}

// Ordered by rank, each once.
std::vector<RankRecord> in_order(std::vector<RankRecord> ranks) {
  std::ranges::stable_sort(ranks, {}, &RankRecord::rank);
  const auto repeated = std::ranges::unique(ranks, {}, &RankRecord::rank);
  ranks.erase(repeated.begin(), repeated.end());
  return ranks;
}

// nullopt: the processes are unknown.
std::optional<bool> are_processes_new(const std::vector<RankRecord>& before,
                                      const std::vector<RankRecord>& now) {
  std::set<std::int64_t> pids;
  for (const RankRecord& rank : before)
    pids.insert(rank.pid);
  const auto is_unknown = [](const RankRecord& rank) { return rank.pid == 0; };
  if (before.empty() || now.empty() || pids.contains(0) || std::ranges::any_of(now, is_unknown))
    return std::nullopt;
  return std::ranges::none_of(now, [&](const RankRecord& rank) { return pids.contains(rank.pid); });
}

// Numbers that ranks of the same name had before.
std::vector<int> carried_over(const std::vector<RankRecord>& before, const std::vector<int>& numbers,
                              const std::vector<RankRecord>& now) {
  std::vector<int> carried(now.size(), kNoNumber);
  for (std::size_t i = 0; i < now.size(); ++i) {
    const auto found = std::ranges::lower_bound(before, now[i].rank, {}, &RankRecord::rank);
    if (found != before.end() && found->rank == now[i].rank)
      carried[i] = numbers[static_cast<std::size_t>(found - before.begin())];
  }
  return carried;
}

// An unknown outcome of one node hides that the others completed, but not that one failed.
int weight(Outcome outcome) {
  switch (outcome) {
    case Outcome::failed:
      return 4;
    case Outcome::preempted:
      return 3;
    case Outcome::stopped:
      return 2;
    case Outcome::unknown:
      return 1;
    case Outcome::completed:
      break;
  }
  return 0;
}

}  // namespace

void AssembledJob::describe(const JobRecord& record) {
  head_.job = record.job;
  if (!record.name.empty()) head_.name = record.name;
  if (!record.owner.empty()) head_.owner = record.owner;
  head_.kind = record.kind;
  head_.time = std::max(head_.time, record.time);
  head_.spares = record.spares;
  const auto learn = [&](std::optional<Duration> JobRecord::*member) {
    if (record.*member) head_.*member = record.*member;
  };
  for (const auto member : {&JobRecord::restart, &JobRecord::checkpoint_interval, &JobRecord::checkpoint_cost,
                            &JobRecord::watchdog, &JobRecord::remaining})
    learn(member);
}

void AssembledJob::join(Part& part, const JobRecord& record) {
  part.order = joined_++;
  if (over_since_) {
    head_.attempt = std::max(head_.attempt + 1, record.attempt);
    over_since_.reset();
    is_new_attempt_ = true;
  }
  if (!is_reported_) head_.attempt = std::max(head_.attempt, record.attempt);
  part.attempt = head_.attempt;
}

void AssembledJob::restart(Part& part) {
  // Before the first record there is no attempt that could end.
  if (is_reported_ && part.attempt == head_.attempt && !is_new_attempt_) {
    ++head_.attempt;
    is_new_attempt_ = true;
    attempt_since_.reset();
  }
  part.attempt = head_.attempt;
}

bool AssembledJob::state(std::string_view node, JobRecord&& record) {
  auto found = parts_.find(node);
  const bool is_known = found != parts_.end();
  if (is_known && record.time < found->second.stated) return false;
  std::vector<RankRecord> ranks = in_order(std::move(record.ranks));
  const std::size_t others = ranks_ - (is_known ? found->second.ranks.size() : 0);
  if (ranks.size() > kRanksOfNode || others + ranks.size() > most_ranks_) return false;
  describe(record);
  if (!is_known) {
    found = parts_.try_emplace(std::string(node)).first;
    join(found->second, record);
  }
  Part& part = found->second;
  const bool is_equal = is_known && !part.end && part.has_local_ranks == record.has_local_ranks &&
                        std::ranges::equal(part.ranks, ranks, is_same_rank);
  // An agent that begins anew counts attempts from 1 again; processes are surer.
  const bool has_restarted =
      is_known && are_processes_new(part.ranks, ranks).value_or(record.attempt > part.node_attempt);
  if (has_restarted) restart(part);
  part.numbers = carried_over(part.ranks, part.numbers, ranks);
  part.ranks = std::move(ranks);
  part.has_local_ranks = record.has_local_ranks;
  part.is_doubted = false;
  part.node_attempt = record.attempt;
  part.stated = record.time;
  part.end.reset();
  ranks_ = others + part.ranks.size();
  all_ended_since_.reset();
  if (!is_equal || has_restarted) has_changed_ = true;
  return true;
}

bool AssembledJob::end(std::string_view node, const JobEndRecord& record) {
  const auto found = parts_.find(node);
  if (found == parts_.end()) return false;
  found->second.end = record;
  found->second.is_doubted = false;
  return true;
}

void AssembledJob::doubt(std::string_view node) {
  if (const auto found = parts_.find(node); found != parts_.end() && !found->second.end)
    found->second.is_doubted = true;
}

bool AssembledJob::end_doubted(std::string_view node, WallTime now) {
  const auto found = parts_.find(node);
  if (found == parts_.end() || !found->second.is_doubted) return false;
  return end(node, {.time = now, .job = head_.job, .outcome = Outcome::unknown});
}

std::optional<int> AssembledJob::rank_of(std::string_view node, int rank) const {
  const auto found = parts_.find(node);
  if (found == parts_.end()) return std::nullopt;
  const Part& part = found->second;
  const auto at = std::ranges::lower_bound(part.ranks, rank, {}, &RankRecord::rank);
  if (at == part.ranks.end() || at->rank != rank) return std::nullopt;
  const int number = part.numbers[static_cast<std::size_t>(at - part.ranks.begin())];
  if (number >= 0) return number;
  if (number == kRefused || part.has_local_ranks) return std::nullopt;
  return rank;
}

bool AssembledJob::has_local_ranks(std::string_view node) const {
  const auto found = parts_.find(node);
  return found != parts_.end() && found->second.has_local_ranks;
}

bool AssembledJob::has_live_part(std::string_view node) const {
  const auto found = parts_.find(node);
  return found != parts_.end() && !found->second.end;
}

bool AssembledJob::is_in_record(const std::string& node, const Part& part, const IsLost& is_lost) const {
  return part.attempt == head_.attempt || (!part.end && !is_lost(node));
}

void AssembledJob::number_ranks(const IsLost& is_lost) {
  std::vector<std::pair<const std::string*, Part*>> stated;
  std::vector<Part*> local;
  for (auto& [node, part] : parts_) {
    if (!is_in_record(node, part, is_lost) || is_new_attempt_) std::ranges::fill(part.numbers, kNoNumber);
    if (!is_in_record(node, part, is_lost)) continue;
    if (part.has_local_ranks)
      local.push_back(&part);
    else
      stated.emplace_back(&node, &part);
  }
  const auto precedence = [&](const auto& each) {
    const auto& [node, part] = each;
    return std::tuple(part->end || is_lost(*node), -part->attempt, part->order);
  };
  std::ranges::sort(stated, {}, precedence);
  refused_ranks_ = 0;
  std::set<int> taken;
  for (const auto& [node, part] : stated)
    for (std::size_t i = 0; i < part->ranks.size(); ++i) {
      const bool is_free = taken.insert(part->ranks[i].rank).second;
      part->numbers[i] = is_free ? part->ranks[i].rank : kRefused;
      if (!is_free) ++refused_ranks_;
    }
  for (Part* part : local)
    for (int& number : part->numbers)
      if (number != kNoNumber && !taken.insert(number).second) number = kNoNumber;
  int next = 0;
  for (Part* part : local)
    for (int& number : part->numbers) {
      if (number != kNoNumber) continue;
      while (taken.contains(next))
        ++next;
      number = next++;
    }
}

void AssembledJob::leave_behind(const IsLost& is_lost) {
  std::erase_if(parts_, [&](const auto& each) {
    const auto& [node, part] = each;
    if (is_in_record(node, part, is_lost)) return false;
    ranks_ -= part.ranks.size();
    return true;
  });
}

JobRecord AssembledJob::whole(WallTime now, const IsLost& is_lost) {
  if (is_new_attempt_) leave_behind(is_lost);
  number_ranks(is_lost);
  JobRecord record = head_;
  record.time = std::min(head_.time, now);
  for (const auto& [node, part] : parts_)
    if (is_in_record(node, part, is_lost))
      for (std::size_t i = 0; i < part.ranks.size(); ++i) {
        if (part.numbers[i] < 0) continue;
        record.ranks.push_back(part.ranks[i]);
        record.ranks.back().rank = part.numbers[i];
      }
  std::ranges::sort(record.ranks, {}, &RankRecord::rank);
  return record;
}

void AssembledJob::report_change(WallTime now, const IsLost& is_lost, std::vector<Record>& out) {
  if (std::exchange(has_changed_, false)) {
    last_change_ = now;
    if (!first_change_) first_change_ = now;
  }
  if (!first_change_ || (now - *last_change_ < kQuiet && now - *first_change_ < kLongestChange)) return;
  out.emplace_back(whole(now, is_lost));
  is_reported_ = true;
  if (std::exchange(is_new_attempt_, false)) attempt_since_ = now;
  first_change_.reset();
  last_change_.reset();
}

Outcome AssembledJob::outcome() const {
  Outcome worst = Outcome::completed;
  for (const auto& [node, part] : parts_) {
    const Outcome own = part.end ? part.end->outcome : Outcome::unknown;
    if (weight(own) > weight(worst)) worst = own;
  }
  return worst;
}

void AssembledJob::report_end(WallTime now, const IsLost& is_lost, std::vector<Record>& out) {
  if (parts_.empty()) return;
  bool has_ended = false;
  bool has_lost = false;
  WallTime time{};
  for (const auto& [node, part] : parts_) {
    if (!part.end && !is_lost(node)) {
      all_ended_since_.reset();
      return;
    }
    (part.end ? has_ended : has_lost) = true;
    if (part.end) time = std::max(time, part.end->time);
  }
  if (!all_ended_since_) all_ended_since_ = now;
  const Duration patience = !has_lost ? kRestartWithin : has_ended ? kWaitForLost : kForgetLost;
  if (now - *all_ended_since_ < patience) return;
  if (is_reported_)
    out.emplace_back(
        JobEndRecord{.time = has_lost ? now : std::min(time, now), .job = head_.job, .outcome = outcome()});
  parts_.clear();
  ranks_ = 0;
  has_changed_ = false;
  first_change_.reset();
  last_change_.reset();
  all_ended_since_.reset();
  over_since_ = now;
}

void AssembledJob::advance(WallTime now, const IsLost& is_lost, std::vector<Record>& out) {
  if (attempt_since_ && now - *attempt_since_ > kJoin) {
    for (auto& [node, part] : parts_)
      if (!part.end && std::ranges::count(part.numbers, kRefused) == 0) part.attempt = head_.attempt;
    attempt_since_.reset();
  }
  report_change(now, is_lost, out);
  report_end(now, is_lost, out);
}

}  // namespace autopilot::jobs
