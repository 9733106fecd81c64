// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collect/discovery/job_groups.hpp"
#include "collect/seen_jobs.hpp"

namespace autopilot::collect {

// One job over time: ranks keep their numbers, a rank that ended stays for a while, and an attempt ends when
// none of its processes is left. Pure. Not thread-safe.
class JobMemory {
 public:
  // Ranks without numbers appear one after the other when a job starts; until then they are numbered anew.
  static constexpr Duration kSettle = std::chrono::seconds(60);
  static constexpr Duration kKeepEndedRank = std::chrono::minutes(10);

  JobMemory(std::string node, int attempt) : node_(std::move(node)), attempt_(attempt) {}

  void update(const FoundJob& found, WallTime now);
  // A process of the job is still in the table. For a job that was not found: its source may be silent.
  [[nodiscard]] bool has_process(const Processes& processes) const;
  [[nodiscard]] SeenJob seen() const;
  [[nodiscard]] int attempt() const { return attempt_; }

 private:
  using ProcessId = std::pair<std::int64_t, std::uint64_t>;  // pid, start

  struct Rank {
    jobs::RankRecord record;
    RankProcess process;
    std::string container;
    bool is_alive = true;
    WallTime last_alive{};
  };

  [[nodiscard]] static ProcessId id_of(const host::Process& process);
  [[nodiscard]] bool is_less_sure(const FoundJob& found) const;
  // False: no rank that is known is among the found ones.
  bool update_alive(const FoundJob& found, WallTime now);
  void begin(const FoundJob& found, WallTime now);
  [[nodiscard]] std::vector<int> numbers_of(const FoundJob& found, WallTime now) const;
  [[nodiscard]] int free_number(const FoundRank& rank, const std::vector<int>& taken) const;
  void set(int number, const FoundRank& rank, WallTime now);
  void drop_ended(WallTime now);

  std::string node_;
  int attempt_ = 1;
  jobs::JobRecord head_;  // without ranks
  std::optional<int> world_;
  std::optional<RankSource> source_;
  std::map<int, Rank> ranks_;
  std::map<int, ProcessId> first_;  // of each rank in this attempt
  WallTime attempt_since_{};
};

}  // namespace autopilot::collect
