// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collect/seen_jobs.hpp"
#include "core/clock.hpp"
#include "jobs/records.hpp"

namespace autopilot::collect {

// What the API server states about the container of a pod that ended.
struct PodEnd {
  std::optional<int> code, signal;
  bool oom = false;  // OOMKilled
  std::optional<jobs::PodReason> reason;
};

// Finds ranks whose process ended, and reports how: exit code and reason from `pod_end`, and the last words
// of their log. A log leaves the node only as the last words of a rank that failed: its exit code states so,
// or, where no code is known, the words themselves. Not thread-safe.
class RankEnds {
 public:
  // How long an end waits for its exit code. The API server knows it seconds later.
  static constexpr Duration kPatience = std::chrono::seconds{30};
  static constexpr std::size_t kMaxWaiting = 1024;  // ranks; further ones are reported without a code

  struct Sources {
    std::function<std::optional<PodEnd>(const std::string& pod_uid)> pod_end;  // may be empty
    // False only if the process has ended.
    std::function<bool(std::int64_t pid, std::uint64_t started_ticks)> may_run;
    // The end of the log of a rank as plain text; empty: there is none.
    std::function<std::string(const std::string& job, const RankProcess& process)> log_end;
  };

  explicit RankEnds(Sources sources) : sources_(std::move(sources)) {}

  void look(const SeenJobs& jobs, WallTime now, std::vector<jobs::Record>& records);
  // Ends wait for their exit code.
  [[nodiscard]] bool is_waiting() const { return !waiting_.empty(); }

 private:
  using Key = std::pair<std::int64_t, std::uint64_t>;  // pid and start
  struct Rank {
    std::string job;
    RankProcess process;
    bool is_seen = true;
  };
  // Ranks of one pod, or one rank without a pod, that ended together.
  struct End {
    std::string job;
    RankProcess process;  // of the lowest rank
    WallTime time{};
    std::string words;
  };

  void note_ended(const Rank& rank, WallTime now);
  [[nodiscard]] bool report(End& end, WallTime now, std::vector<jobs::Record>& records) const;

  Sources sources_;
  std::map<Key, Rank> ranks_;
  std::vector<End> waiting_;
};

// The last 4 KiB of a text as valid UTF-8.
[[nodiscard]] std::string last_words(std::string_view text);

}  // namespace autopilot::collect
