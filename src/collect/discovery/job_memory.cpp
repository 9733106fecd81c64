// SPDX-License-Identifier: Apache-2.0
#include "collect/discovery/job_memory.hpp"

#include <algorithm>
#include <set>
#include <tuple>

namespace autopilot::collect {
namespace {

std::optional<int> first_gpu(const std::vector<int>& gpus) {
  return gpus.empty() ? std::nullopt : std::optional(gpus.front());
}

bool is_same_record(const jobs::RankRecord& a, const jobs::RankRecord& b) {
  return std::tie(a.rank, a.gpu, a.role, a.replica, a.pod, a.pid) ==
         std::tie(b.rank, b.gpu, b.role, b.replica, b.pod, b.pid);
}

}  // namespace

JobMemory::ProcessId JobMemory::id_of(const host::Process& process) {
  return {process.task.pid, process.task.started_ticks};
}

// The first sight of the job, another attempt, or another meaning of the ranks.
void JobMemory::begin(const FoundJob& found, WallTime now) {
  ranks_.clear();
  first_.clear();
  source_ = found.source;
  attempt_since_ = now;
  head_.time = now;
}

// Between two attempts the pod of a launcher may state a rank while no worker does; and a process that states
// a rank once more does not change what is known of the others.
bool JobMemory::is_less_sure(const FoundJob& found) const {
  return source_ && (!found.source || *found.source > *source_) && !ranks_.empty();
}

bool JobMemory::update_alive(const FoundJob& found, WallTime now) {
  std::set<ProcessId> alive;
  for (const FoundRank& rank : found.ranks)
    alive.insert(id_of(*rank.main));
  bool is_any_alive = false;
  for (auto& [number, rank] : ranks_) {
    rank.is_alive = alive.contains(ProcessId(rank.process.pid, rank.process.started_ticks));
    if (!rank.is_alive) continue;
    rank.last_alive = now;
    is_any_alive = true;
  }
  return is_any_alive;
}

void JobMemory::update(const FoundJob& found, WallTime now) {
  if (is_less_sure(found) && (update_alive(found, now) || found.source)) {
    drop_ended(now);
    return;
  }
  const bool is_first = first_.empty();
  const auto is_of_attempt = [this](const FoundRank& rank) {
    return std::ranges::any_of(first_, [&](const auto& each) { return each.second == id_of(*rank.main); });
  };
  const bool has_surer_source = source_ && found.source && *found.source < *source_;
  const bool is_restart = !is_first && !has_surer_source && std::ranges::none_of(found.ranks, is_of_attempt);
  if (is_restart) ++attempt_;
  if (is_first || is_restart || source_ != found.source) begin(found, now);
  head_.job = found.identity.key;
  head_.name = found.identity.name;
  head_.owner = found.identity.owner;
  head_.kind = found.identity.kind;
  head_.attempt = attempt_;
  head_.has_local_ranks = !source_;
  world_ = found.world;
  const std::vector<int> numbers = numbers_of(found, now);
  const std::set<int> present(numbers.begin(), numbers.end());
  for (auto& [number, rank] : ranks_)
    rank.is_alive = present.contains(number);
  for (std::size_t i = 0; i < found.ranks.size(); ++i)
    set(numbers[i], found.ranks[i], now);
  drop_ended(now);
}

std::vector<int> JobMemory::numbers_of(const FoundJob& found, WallTime now) const {
  std::vector<int> numbers;
  if (source_) {
    for (const FoundRank& rank : found.ranks)
      numbers.push_back(*rank.rank);
    return numbers;
  }
  constexpr int kNone = -1;
  std::map<ProcessId, int> known;
  for (const auto& [number, rank] : ranks_)
    known.emplace(ProcessId(rank.process.pid, rank.process.started_ticks), number);
  std::size_t found_again = 0;
  for (const FoundRank& rank : found.ranks) {
    const auto number = known.find(id_of(*rank.main));
    numbers.push_back(number == known.end() ? kNone : number->second);
    if (numbers.back() != kNone) ++found_again;
  }
  const bool is_only_growing = found_again == ranks_.size();
  if (is_only_growing && now - attempt_since_ < kSettle)
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = static_cast<int>(i);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i] == kNone) numbers[i] = free_number(found.ranks[i], numbers);
  return numbers;
}

// That of an ended rank on the same GPU, else the lowest that was never used.
int JobMemory::free_number(const FoundRank& rank, const std::vector<int>& taken) const {
  const auto is_taken = [&](int number) { return std::ranges::find(taken, number) != taken.end(); };
  for (const auto& [number, known] : ranks_)
    if (!is_taken(number) && known.record.gpu == first_gpu(rank.gpus)) return number;
  int number = 0;
  while (is_taken(number) || ranks_.contains(number))
    ++number;
  return number;
}

void JobMemory::set(int number, const FoundRank& found, WallTime now) {
  const host::Process& main = *found.main;
  jobs::RankRecord record{.rank = number,
                          .node = node_,
                          .gpu = first_gpu(found.gpus),
                          .role = found.role,
                          .replica = found.replica,
                          .pod = found.pod,
                          .pid = main.task.pid};
  Rank& rank = ranks_[number];
  // A program gives its GPU back before it ends.
  const bool is_same_process = id_of(main) == ProcessId(rank.process.pid, rank.process.started_ticks);
  if (is_same_process && !record.gpu) record.gpu = rank.record.gpu;
  if (!is_same_record(rank.record, record)) head_.time = now;
  rank.record = std::move(record);
  rank.process = {.pid = main.task.pid,
                  .started_ticks = main.task.started_ticks,
                  .rank = number,
                  .gpus = found.gpus,
                  .children = found.children,
                  .network_namespace = main.network_namespace,
                  .pod_uid = main.owner.pod_uid,
                  .inner_pid = main.inner_pid};
  rank.container = main.owner.container;
  rank.is_alive = true;
  rank.last_alive = now;
  first_.try_emplace(number, id_of(main));
}

void JobMemory::drop_ended(WallTime now) {
  const auto dropped = std::erase_if(ranks_, [&](const auto& each) {
    return !each.second.is_alive && now - each.second.last_alive > kKeepEndedRank;
  });
  if (dropped > 0) head_.time = now;
}

bool JobMemory::has_process(const Processes& processes) const {
  return std::ranges::any_of(ranks_, [&](const auto& each) {
    const RankProcess& known = each.second.process;
    const auto found = processes.find(known.pid);
    return found != processes.end() && found->second.task.started_ticks == known.started_ticks;
  });
}

SeenJob JobMemory::seen() const {
  SeenJob job{.record = head_, .world = world_};
  for (const auto& [number, rank] : ranks_) {
    job.record.ranks.push_back(rank.record);
    if (!rank.is_alive) continue;
    job.processes.push_back(rank.process);
    const auto is_same = [&](const JobPod& pod) { return pod.uid == rank.process.pod_uid; };
    if (rank.process.pod_uid.empty() || std::ranges::any_of(job.pods, is_same)) continue;
    job.pods.push_back({.uid = rank.process.pod_uid, .container = rank.container});
  }
  return job;
}

}  // namespace autopilot::collect
