// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <gtest/gtest.h>
#include <map>
#include <string>

#include "jobs/detectors/collectives.hpp"

namespace autopilot::jobs {
namespace {

using std::chrono::seconds;

constexpr WallTime kOrigin{seconds(1767225600)};

// 16 ranks: tensor-parallel groups of 4, data-parallel groups across them, and all.
class ParallelJob {
 public:
  ParallelJob() {
    for (int first = 0; first < 16; first += 4)
      add_group("tp" + std::to_string(first), first, 1, 4);
    for (int first = 0; first < 4; ++first)
      add_group("dp" + std::to_string(first), first, 4, 4);
    add_group("world", 0, 1, 16);
    for (int i = 0; i < 20; ++i) {
      for (auto& [id, held] : groups_)
        for (auto& count : held.started)
          count = *count + 10;
      report();
    }
  }

  std::optional<std::int64_t>& count(const std::string& id, int rank) {
    Communicator& held = groups_.at(id);
    for (std::size_t i = 0; i < held.ranks.size(); ++i)
      if (held.ranks[i] == rank) return held.started[i];
    throw std::out_of_range(id);
  }
  // All members of a group but one start the next collective.
  void wait_for(const std::string& id, std::vector<int> late) {
    for (const int rank : groups_.at(id).ranks)
      if (std::find(late.begin(), late.end(), rank) == late.end()) count(id, rank) = *count(id, rank) + 1;
  }
  Communicator& group(const std::string& id) { return groups_.at(id); }
  void report() {
    now_ += seconds(15);
    CollectivesRecord record{now_, "job", CountSource::ras, {}};
    for (const auto& [id, held] : groups_)
      record.communicators.push_back(held);
    tracker_.add(record);
  }
  CollectiveBlame blame() {
    for (int i = 0; i < 4; ++i)
      report();
    return tracker_.blame(now_);
  }

 private:
  void add_group(const std::string& id, int first, int stride, int size) {
    Communicator& made = groups_[id];
    made.id = id;
    made.size = size;
    for (int i = 0; i < size; ++i)
      made.ranks.push_back(first + i * stride);
    made.started.assign(static_cast<std::size_t>(size), 0);
  }

  std::map<std::string, Communicator> groups_;
  CollectiveTracker tracker_;
  WallTime now_ = kOrigin;
};

TEST(CollectiveBlame, the_rank_that_did_not_start_is_named) {
  ParallelJob job;
  job.wait_for("tp4", {5});
  const CollectiveBlame blame = job.blame();
  EXPECT_EQ(blame.reason, BlameReason::behind);
  EXPECT_EQ(blame.ranks, std::vector{5});
  EXPECT_EQ(blame.communicator, "tp4");
  EXPECT_EQ(blame.behind_by, 1);
}

// Rank 5 hangs. 4, 6 and 7 wait for it in their group, so they are late in their other groups, and in the
// world.
TEST(CollectiveBlame, groups_whose_members_wait_elsewhere_are_downstream) {
  ParallelJob job;
  job.wait_for("tp4", {5});
  for (const int late : {4, 5, 6, 7})
    job.wait_for("dp" + std::to_string(late % 4), {late});
  job.wait_for("world", {4, 5, 6, 7});
  const CollectiveBlame blame = job.blame();
  EXPECT_EQ(blame.reason, BlameReason::behind);
  EXPECT_EQ(blame.ranks, std::vector{5});
}

TEST(CollectiveBlame, the_lowest_count_decides_among_late_ranks) {
  ParallelJob job;
  job.wait_for("world", {3, 9});
  job.wait_for("world", {3});
  const CollectiveBlame blame = job.blame();
  EXPECT_EQ(blame.ranks, std::vector{3});
  EXPECT_EQ(blame.behind_by, 2);
}

TEST(CollectiveBlame, dead_and_unresponsive_ranks_come_first) {
  ParallelJob job;
  job.wait_for("tp4", {5});
  job.group("world").missing = {11, 12};
  EXPECT_EQ(job.blame().reason, BlameReason::unresponsive);
  EXPECT_EQ(job.blame().ranks, (std::vector{11, 12}));
  job.group("dp1").dead = {9};
  EXPECT_EQ(job.blame().reason, BlameReason::dead);
  EXPECT_EQ(job.blame().ranks, std::vector{9});
}

TEST(CollectiveBlame, an_unknown_count_accuses_nobody) {
  ParallelJob job;
  job.count("tp4", 5) = std::nullopt;
  job.wait_for("tp4", {5});
  for (const auto& [id, late] : std::map<std::string, int>{{"dp0", 4}, {"dp2", 6}, {"dp3", 7}})
    job.wait_for(id, {late});
  EXPECT_EQ(job.blame().reason, BlameReason::none) << "4, 6 and 7 may wait for 5";
}

TEST(CollectiveBlame, a_single_record_of_a_flight_recorder_is_enough) {
  CollectiveTracker tracker;
  Communicator world{"w", 3, {0, 1, 2}, {7, 6, 7}, {6, 6, 6}, {}, {}};
  tracker.add({kOrigin, "job", CountSource::flight_recorder, {world}});
  EXPECT_EQ(tracker.blame(kOrigin).ranks, std::vector{1});
}

TEST(CollectiveBlame, ranks_that_wait_for_each_other_are_a_deadlock_of_the_program) {
  CollectiveTracker tracker;
  Communicator first{"a", 2, {0, 1}, {7, 6}, {}, {}, {}};
  Communicator second{"b", 2, {0, 1}, {6, 7}, {}, {}, {}};
  for (int i = 0; i < 3; ++i)
    tracker.add({kOrigin + seconds(15 * i), "job", CountSource::ras, {first, second}});
  const CollectiveBlame blame = tracker.blame(kOrigin + seconds(30));
  EXPECT_EQ(blame.reason, BlameReason::deadlock);
  EXPECT_TRUE(blame.ranks.empty());
}

}  // namespace
}  // namespace autopilot::jobs
