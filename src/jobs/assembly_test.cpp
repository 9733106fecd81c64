// SPDX-License-Identifier: Apache-2.0
#include "jobs/assembly.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace autopilot::jobs::assembly_test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const WallTime kStart{std::chrono::seconds(1'800'000'000)};

std::string node_name(int number) {
  return "node-" + std::to_string(1000 + number);
}

// Nodes that report the ranks of one job, and a second that passes.
class AssemblyTest : public ::testing::Test {
 protected:
  JobRecord job_of(const std::string& node, const std::vector<int>& ranks, std::int64_t first_pid,
                   int attempt = 1) const {
    JobRecord record{.time = now_, .job = "ml/llama", .name = "llama", .attempt = attempt};
    for (const int rank : ranks)
      record.ranks.push_back({.rank = rank, .node = node, .gpu = rank % 8, .pid = first_pid++});
    return record;
  }
  JobRecord local_job_of(const std::string& node, int ranks, std::int64_t first_pid) const {
    JobRecord record = job_of(node, {}, 0);
    for (int rank = 0; rank < ranks; ++rank)
      record.ranks.push_back({.rank = rank, .node = node, .gpu = rank, .pid = first_pid++});
    record.has_local_ranks = true;
    return record;
  }
  void add(const std::string& node, Record record) { assembly_.add(node, std::move(record), out_); }
  void pass(Duration time, const std::vector<std::string>& alive = {}) {
    for (const WallTime end = now_ + time; now_ < end;) {
      now_ += 1s;
      for (const std::string& node : alive)
        add(node, NodeRecord{.time = now_, .node = node});
      assembly_.advance(now_, out_);
    }
  }
  template <class T>
  std::vector<T> take() {
    std::vector<T> taken;
    for (const Record& record : std::exchange(out_, {}))
      if (const T* held = std::get_if<T>(&record)) taken.push_back(*held);
    return taken;
  }
  static std::vector<std::pair<int, std::string>> ranks_of(const JobRecord& record) {
    std::vector<std::pair<int, std::string>> ranks;
    for (const RankRecord& rank : record.ranks)
      ranks.emplace_back(rank.rank, rank.node);
    return ranks;
  }

  WallTime now_ = kStart;
  Assembly assembly_;
  std::vector<Record> out_;
};

TEST_F(AssemblyTest, nodes_that_start_together_are_one_record) {
  add("a", job_of("a", {0, 1}, 100));
  pass(1s);
  add("b", job_of("b", {2, 3}, 100));
  pass(5s);
  const auto jobs = take<JobRecord>();
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_EQ(jobs[0].name, "llama");
  EXPECT_EQ(jobs[0].attempt, 1);
  EXPECT_THAT(ranks_of(jobs[0]),
              ElementsAre(std::pair(0, "a"), std::pair(1, "a"), std::pair(2, "b"), std::pair(3, "b")));
  add("a", job_of("a", {0, 1}, 100));
  pass(10s);
  EXPECT_THAT(take<JobRecord>(), IsEmpty()) << "a repeated statement changes nothing";
}

TEST_F(AssemblyTest, a_restart_on_all_nodes_is_one_attempt) {
  add("a", job_of("a", {0, 1}, 100));
  add("b", job_of("b", {2, 3}, 100));
  pass(5s);
  take<JobRecord>();
  for (int attempt = 2; attempt <= 4; ++attempt) {
    add("b", JobEndRecord{.time = now_, .job = "ml/llama"});
    add("b", job_of("b", {0, 1}, attempt * 1000, attempt));
    pass(2s);
    add("a", job_of("a", {2, 3}, attempt * 1000, attempt));
    pass(10s);
    const auto jobs = take<JobRecord>();
    ASSERT_THAT(jobs, SizeIs(1)) << attempt;
    EXPECT_EQ(jobs[0].attempt, attempt);
    EXPECT_EQ(jobs[0].ranks.front().node, "b");
  }
}

TEST_F(AssemblyTest, an_agent_that_starts_again_is_no_restart_of_the_job) {
  add("a", job_of("a", {0, 1}, 100, 7));
  pass(5s);
  ASSERT_EQ(take<JobRecord>().at(0).attempt, 7);
  add("a", job_of("a", {0, 1}, 100, 1));
  pass(5s);
  EXPECT_THAT(take<JobRecord>(), IsEmpty());
  add("a", job_of("a", {0, 1}, 300, 1));
  pass(5s);
  EXPECT_EQ(take<JobRecord>().at(0).attempt, 8) << "its processes are new, whatever the agent counts";
}

TEST_F(AssemblyTest, ranks_that_no_launcher_states_get_numbers_of_the_job) {
  add("b", local_job_of("b", 2, 100));
  add("a", local_job_of("a", 2, 100));
  pass(5s);
  const auto jobs = take<JobRecord>();
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_FALSE(jobs[0].has_local_ranks);
  EXPECT_THAT(ranks_of(jobs[0]),
              ElementsAre(std::pair(0, "a"), std::pair(1, "a"), std::pair(2, "b"), std::pair(3, "b")));

  WindowRecord window{.time = now_, .length = 10s, .node = "b"};
  window.processes = {{"ml/llama", 0}, {"ml/other", 0}, {"ml/llama", 1}};
  window.columns = {{Metric::process_cpu, {1, 2, 3}}, {Metric::host_cpu, {0.5F}}};
  add("b", window);
  add("b", StepRecord{.time = now_, .job = "ml/llama", .rank = 1, .step = 7});
  add("b", ExitRecord{.time = now_, .job = "ml/llama", .rank = 0, .code = 1});
  add("b", HeartbeatRecord{.time = now_, .job = "ml/llama", .rank = 1});
  add("b", CollectivesRecord{.time = now_,
                             .job = "ml/llama",
                             .communicators = {{.id = "x", .size = 2, .ranks = {0, 1}, .started = {1, 2}}}});
  ASSERT_THAT(out_, SizeIs(5));
  const auto& kept = std::get<WindowRecord>(out_[0]);
  ASSERT_THAT(kept.processes, SizeIs(2));
  EXPECT_EQ(kept.processes[0].rank, 2);
  EXPECT_EQ(kept.processes[1].rank, 3);
  EXPECT_THAT(kept.columns[0].values, ElementsAre(1, 3));
  EXPECT_THAT(kept.columns[1].values, ElementsAre(0.5F));
  EXPECT_EQ(std::get<StepRecord>(out_[1]).rank, 3);
  EXPECT_EQ(std::get<ExitRecord>(out_[2]).rank, 2);
  EXPECT_EQ(std::get<HeartbeatRecord>(out_[3]).rank, 3);
  EXPECT_THAT(std::get<CollectivesRecord>(out_[4]).communicators[0].ranks, ElementsAre(2, 3));
}

TEST_F(AssemblyTest, a_node_that_comes_later_does_not_change_numbers) {
  add("b", local_job_of("b", 2, 100));
  pass(5s);
  take<JobRecord>();
  add("a", local_job_of("a", 1, 100));
  pass(5s);
  EXPECT_THAT(ranks_of(take<JobRecord>().at(0)),
              ElementsAre(std::pair(0, "b"), std::pair(1, "b"), std::pair(2, "a")));
}

TEST_F(AssemblyTest, a_node_speaks_only_about_itself) {
  add("a", job_of("a", {0, 1}, 100));
  add("b", job_of("b", {2, 3}, 100));
  pass(5s);
  out_.clear();
  add("b", job_of("a", {0, 1}, 500, 2));
  add("b", WindowRecord{.time = now_, .length = 10s, .node = "a"});
  add("b", XidRecord{.time = now_, .node = "a", .xid = 79});
  add("b", NodeStateRecord{.time = now_, .node = "a", .is_lost = true});
  add("b", ExitRecord{.time = now_, .job = "ml/llama", .rank = 0, .code = 1});
  add("b", LogRecord{.time = now_, .job = "ml/llama", .rank = 1, .text = "x"});
  add("c", JobEndRecord{.time = now_, .job = "ml/llama"});
  add("c", StepRecord{.time = now_, .job = "ml/llama", .step = 1});
  EXPECT_THAT(out_, IsEmpty());
  EXPECT_EQ(assembly_.dropped(), 8U);
  add("b", ExitRecord{.time = now_, .job = "ml/llama", .rank = 2, .code = 1});
  EXPECT_THAT(out_, SizeIs(1));
}

TEST_F(AssemblyTest, a_rank_stays_with_the_node_that_has_it_unless_that_is_lost) {
  add("a", job_of("a", {0, 1}, 100));
  add("b", job_of("b", {2, 3}, 100));
  pass(5s);
  add("c", job_of("c", {0, 1}, 100));
  pass(5s, {"a", "b"});
  EXPECT_EQ(take<JobRecord>().back().ranks.front().node, "a");
  pass(70s, {"b", "c"});
  ASSERT_THAT(take<NodeStateRecord>(), SizeIs(1));
  add("c", job_of("c", {0, 1}, 900, 2));
  add("b", job_of("b", {2, 3}, 900, 2));
  pass(5s, {"b", "c"});
  const auto jobs = take<JobRecord>();
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_THAT(ranks_of(jobs[0]),
              ElementsAre(std::pair(0, "c"), std::pair(1, "c"), std::pair(2, "b"), std::pair(3, "b")));
}

TEST_F(AssemblyTest, a_job_ends_when_all_its_nodes_report_the_end) {
  add("a", job_of("a", {0}, 100));
  add("b", job_of("b", {1}, 100));
  pass(5s);
  add("a", JobEndRecord{.time = now_, .job = "ml/llama", .outcome = Outcome::completed});
  pass(60s, {"a", "b"});
  EXPECT_THAT(take<JobEndRecord>(), IsEmpty());
  const WallTime end = now_;
  add("b", JobEndRecord{.time = now_, .job = "ml/llama", .outcome = Outcome::unknown});
  pass(40s, {"a", "b"});
  const auto ends = take<JobEndRecord>();
  ASSERT_THAT(ends, SizeIs(1));
  EXPECT_EQ(ends[0].time, end);
  EXPECT_EQ(ends[0].outcome, Outcome::unknown);
  add("a", job_of("a", {0}, 200));
  pass(5s);
  EXPECT_EQ(take<JobRecord>().at(0).attempt, 2) << "the job of this name runs again";
}

TEST_F(AssemblyTest, a_silent_node_is_lost_and_not_ended) {
  add("a", job_of("a", {0}, 100));
  add("b", job_of("b", {1}, 100));
  add("idle", NodeRecord{.time = now_, .node = "idle"});
  pass(5s);
  out_.clear();
  pass(65s, {"a"});
  auto states = take<NodeStateRecord>();
  ASSERT_THAT(states, SizeIs(1)) << "a node without a job may be silent";
  EXPECT_EQ(states[0].node, "b");
  EXPECT_TRUE(states[0].is_lost);
  add("a", JobEndRecord{.time = now_, .job = "ml/llama", .outcome = Outcome::completed});
  pass(60s, {"a"});
  EXPECT_THAT(take<JobEndRecord>(), IsEmpty());
  add("b", HeartbeatRecord{.time = now_, .job = "ml/llama", .rank = 1});
  states = take<NodeStateRecord>();
  ASSERT_THAT(states, SizeIs(1));
  EXPECT_FALSE(states[0].is_lost);
  pass(12min, {"a"});
  const auto ends = take<JobEndRecord>();
  ASSERT_THAT(ends, SizeIs(1)) << "a job of which only lost nodes remain does not run";
  EXPECT_EQ(ends[0].outcome, Outcome::unknown);
}

TEST_F(AssemblyTest, a_pause_of_the_caller_is_no_silence_of_the_nodes) {
  add("a", job_of("a", {0}, 100));
  pass(5s);
  now_ += 1h;
  pass(30s);
  EXPECT_THAT(take<NodeStateRecord>(), IsEmpty());
}

TEST_F(AssemblyTest, a_job_that_a_new_agent_does_not_state_has_ended) {
  add("a", job_of("a", {0}, 100));
  pass(5s);
  assembly_.begin_session("a");
  add("a", job_of("a", {0}, 100));
  pass(2min, {"a"});
  EXPECT_THAT(take<JobEndRecord>(), IsEmpty());
  assembly_.begin_session("a");
  pass(2min, {"a"});
  EXPECT_THAT(take<JobEndRecord>(), SizeIs(1));
}

TEST_F(AssemblyTest, a_job_of_4096_ranks_that_restarts_every_minute_is_bounded) {
  constexpr int kNodes = 512;
  std::vector<int> ranks(8);
  for (int attempt = 1; attempt <= 10; ++attempt) {
    for (int node = 0; node < kNodes; ++node) {
      for (int i = 0; i < 8; ++i)
        ranks[static_cast<std::size_t>(i)] = node * 8 + i;
      add(node_name(node), job_of(node_name(node), ranks, attempt * 100, attempt));
    }
    pass(60s);
    const auto jobs = take<JobRecord>();
    ASSERT_THAT(jobs, SizeIs(1));
    EXPECT_EQ(jobs[0].attempt, attempt);
    EXPECT_THAT(jobs[0].ranks, SizeIs(4096));
  }
  EXPECT_EQ(assembly_.dropped(), 0U);
}

TEST_F(AssemblyTest, tables_have_limits) {
  assembly_ = Assembly({.jobs = 2, .nodes = 2, .ranks_of_job = 4});
  add("a", job_of("a", {0, 1}, 100));
  add("b", job_of("b", {2, 3, 4}, 100));
  EXPECT_EQ(assembly_.dropped(), 1U) << "too many ranks of one job";
  add("c", NodeRecord{.time = now_, .node = "c"});
  EXPECT_EQ(assembly_.dropped(), 2U) << "too many nodes";
  for (const std::string job : {"second", "third"})
    add("a", JobRecord{.time = now_, .job = job});
  EXPECT_EQ(assembly_.dropped(), 3U) << "too many jobs";
  add("a", JobEndRecord{.time = now_, .job = "second"});
  pass(40s, {"a"});
  add("a", JobRecord{.time = now_, .job = "third"});
  EXPECT_EQ(assembly_.dropped(), 3U) << "an ended job makes room";

  assembly_ = Assembly();
  for (int job = 0; job < 100; ++job)
    add("a", JobRecord{.time = now_, .job = std::to_string(job)});
  EXPECT_EQ(assembly_.dropped(), 36U) << "no node fills the table of jobs";
}

TEST_F(AssemblyTest, what_is_late_or_repeated_does_no_harm) {
  add("a", job_of("a", {0, 0, 1}, 100));
  JobRecord late = job_of("a", {5}, 900, 2);
  late.time -= 1h;
  add("a", late);
  EXPECT_EQ(assembly_.dropped(), 1U);
  pass(5s);
  EXPECT_THAT(take<JobRecord>().at(0).ranks, SizeIs(2));
  JobRecord future = job_of("a", {0}, 100);
  future.time += 24h;
  add("a", future);
  pass(5s);
  EXPECT_LE(take<JobRecord>().at(0).time, now_);
}

}  // namespace
}  // namespace autopilot::jobs::assembly_test
