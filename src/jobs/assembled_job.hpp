// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/records.hpp"

namespace autopilot::jobs {

// One job as several nodes see it: each node states its ranks, and the job gets one list of ranks, one number
// of attempt and one end. Time is that of advance(). Not thread-safe.
//
// - Changes of many nodes that arrive within some seconds become one record.
// - A node whose processes are all new restarts. The first node that restarts a second time within an attempt
//   begins the next attempt; the others join it.
// - A rank that two nodes state belongs to the node that is alive, in the later attempt, and was first.
// - Ranks that a node cannot name get the lowest free numbers, in the order of the nodes' names.
class AssembledJob {
 public:
  static constexpr std::size_t kRanksOfNode = 1024;
  // A change is reported when no other followed for kQuiet, and at the latest after kLongestChange.
  static constexpr Duration kQuiet = std::chrono::seconds(3);
  static constexpr Duration kLongestChange = std::chrono::seconds(20);
  // A node that does not restart for this time after a new attempt began takes part in it as it is.
  static constexpr Duration kJoin = std::chrono::minutes(15);
  // After the last node reported the end: a restart within this time is an attempt, not an end.
  static constexpr Duration kRestartWithin = std::chrono::seconds(30);
  // After all nodes but lost ones reported the end.
  static constexpr Duration kWaitForLost = std::chrono::minutes(10);
  // All nodes of the job are lost.
  static constexpr Duration kForgetLost = std::chrono::hours(24);

  explicit AssembledJob(std::size_t most_ranks) : most_ranks_(most_ranks) {}

  using IsLost = std::function<bool(std::string_view node)>;

  // The node states its ranks. False: older than its last statement, or too many ranks.
  [[nodiscard]] bool state(std::string_view node, JobRecord&& record);
  // The last process of the job on the node ended. False: the node has no part in the job.
  [[nodiscard]] bool end(std::string_view node, const JobEndRecord& record);
  // Appends the record of the job, or of its end, when it is due.
  void advance(WallTime now, const IsLost& is_lost, std::vector<Record>& out);

  [[nodiscard]] bool has_part(std::string_view node) const { return parts_.contains(node); }
  // Its end on the node was not reported.
  [[nodiscard]] bool has_live_part(std::string_view node) const;
  // The number within the job of a rank that the node states. nullopt: not a rank of this node, or it has no
  // number yet.
  [[nodiscard]] std::optional<int> rank_of(std::string_view node, int rank) const;
  // The ranks of this node are its own numbers.
  [[nodiscard]] bool has_local_ranks(std::string_view node) const;
  // The end was reported at this time; no node has a part any more.
  [[nodiscard]] std::optional<WallTime> over_since() const { return over_since_; }
  // Ranks in the last record that a second node stated.
  [[nodiscard]] std::size_t refused_ranks() const { return refused_ranks_; }

  // The agent of the node begins anew and states its jobs again: what it does not state is unconfirmed.
  void doubt(std::string_view node);
  // An unconfirmed part has ended. False: the node has confirmed it.
  bool end_doubted(std::string_view node, WallTime now);

 private:
  struct Part {
    std::vector<RankRecord> ranks;  // as the node states them, ordered by rank
    std::vector<int> numbers;       // within the job; as long as ranks
    bool has_local_ranks = false;
    bool is_doubted = false;
    int node_attempt = 1;
    int attempt = 1;        // of the job
    std::size_t order = 0;  // of joining the job
    WallTime stated{};
    std::optional<JobEndRecord> end;
  };
  using Parts = std::map<std::string, Part, std::less<>>;

  void join(Part& part, const JobRecord& record);
  void restart(Part& part);
  void describe(const JobRecord& record);
  [[nodiscard]] bool is_in_record(const std::string& node, const Part& part, const IsLost& is_lost) const;
  // Drops parts that the new attempt runs without.
  void leave_behind(const IsLost& is_lost);
  void number_ranks(const IsLost& is_lost);
  [[nodiscard]] JobRecord whole(WallTime now, const IsLost& is_lost);
  void report_change(WallTime now, const IsLost& is_lost, std::vector<Record>& out);
  void report_end(WallTime now, const IsLost& is_lost, std::vector<Record>& out);
  [[nodiscard]] Outcome outcome() const;

  std::size_t most_ranks_;
  std::size_t ranks_ = 0;  // of all parts
  JobRecord head_;         // without ranks; the attempt is that of the job
  Parts parts_;
  std::size_t joined_ = 0;
  bool is_reported_ = false;
  bool is_new_attempt_ = false;  // not reported yet
  bool has_changed_ = false;     // since the last advance()
  std::optional<WallTime> first_change_, last_change_;
  std::optional<WallTime> attempt_since_;
  std::optional<WallTime> all_ended_since_;
  std::optional<WallTime> over_since_;
  std::size_t refused_ranks_ = 0;
};

}  // namespace autopilot::jobs
