// SPDX-License-Identifier: Apache-2.0
#include "controller/history/cluster_history.hpp"

#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tests/support/host/test_clock.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::controller::cluster_history_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Duration kPatience = 10s;
constexpr int kFleet = 40;

std::string nth(int number) {
  return "n" + std::to_string(number);
}

class ClusterHistories : public ::testing::Test {
 protected:
  ClusterHistories() {
    world_.is_complete = true;
    for (int number = 1; number <= kFleet; ++number) {
      Node node;
      node.name = nth(number);
      node.uid = "uid-" + node.name;
      node.gpus = 8;
      world_.put(node);
    }
    for (int number = 1; number <= kFleet; ++number)
      set(nth(number), Verdict::pass);
    open();
  }
  void open() {
    history_.reset();
    history_ = std::make_unique<ClusterHistory>(clock_, ClusterHistoryOptions{folder_ / "history.db", {}});
    history_->lead();
    settle();
  }
  void settle() { ASSERT_TRUE(history_->flush(kPatience)); }
  void later(Duration time) {
    since_boot_ += time;
    clock_->set(since_boot_);
    for (int number = 1; number <= kFleet; ++number)
      world_.note_report(nth(number), now());
  }
  [[nodiscard]] WallTime now() const { return clock_->now().wall; }
  void set(const std::string& name, std::optional<Verdict> verdict, std::vector<OpenCause> causes = {}) {
    Node node = *world_.node(name);
    node.verdict = verdict;
    node.looked = now();
    node.causes = std::move(causes);
    world_.put(node);
  }
  void fail(const std::string& name, const std::string& incident) {
    set(name, Verdict::evict,
        {{.incident = incident, .cause = "xid_79", .blamed = "gpu/0000:3b:00.0", .since = now()}});
  }
  void run_job(const std::string& job, std::vector<std::string> nodes, bool has_ended = false) {
    jobs::JobReport report;
    report.state.job = job;
    report.nodes = std::move(nodes);
    report.started = now() - 1h;
    if (has_ended) {
      report.ended = now();
      report.outcome = jobs::Outcome::failed;
    }
    job_hub::HubResults results;
    results.changed.push_back(std::move(report));
    history_->note(results);
  }
  void look() {
    history_->look(world_);
    settle();
  }
  template <class T>
  std::vector<T> all(std::string_view type) {
    settle();
    const auto opened = store::History::open_read_only(folder_ / "history.db");
    std::vector<T> found;
    const auto records = opened.value()->records({.types = {std::string(type)}});
    for (const learning::HistoryRecord& record : *records)
      found.push_back(std::get<T>(record));
    return found;
  }

  host::TestFolder folder_;
  Duration since_boot_ = 1000s;
  std::shared_ptr<host::FixedClock> clock_ = std::make_shared<host::FixedClock>();
  World world_;
  std::unique_ptr<ClusterHistory> history_;
};

TEST_F(ClusterHistories, a_job_that_ended_has_a_record_for_each_node) {
  run_job("ml/a", {"n1", "n2"});
  EXPECT_THAT(all<learning::NodeJob>("job"), IsEmpty());
  run_job("ml/a", {"n1", "n2"}, true);
  run_job("ml/a", {"n1", "n2"}, true);
  const auto jobs = all<learning::NodeJob>("job");
  ASSERT_THAT(jobs, SizeIs(2));
  EXPECT_EQ(jobs[0].outcome, learning::JobOutcome::failed);
}

TEST_F(ClusterHistories, a_validation_is_kept_and_a_repetition_replaces_it) {
  jobs::ValidationRecord record{.time = now(),
                                .node = "n1",
                                .job = "ml/a",
                                .id = "6f1c",
                                .verdict = jobs::ValidationVerdict::unknown,
                                .text = "yielded",
                                .failed = {}};
  history_->note({.changed = {}, .alerts = {}, .actions = {}, .validations = {record}});
  record.verdict = jobs::ValidationVerdict::failed;
  record.failed = {{.check = "gpu.ecc", .reason = "ecc", .gpu = "123", .text = "GPU 0"}};
  history_->note({.changed = {}, .alerts = {}, .actions = {}, .validations = {record}});
  const auto found = all<learning::Validation>("validation");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].id, "n1/6f1c");
  EXPECT_EQ(found[0].verdict, learning::Verdict::failed);
  EXPECT_EQ(found[0].checks.at(0).gpu, "123");
}

TEST_F(ClusterHistories, a_node_does_not_replace_the_validation_of_another_one) {
  jobs::ValidationRecord record{.time = now(),
                                .node = "n1",
                                .job = "ml/a",
                                .id = "ml/a@n1@2026-11-21T03:04:05.000Z",
                                .verdict = jobs::ValidationVerdict::failed,
                                .text = {},
                                .failed = {}};
  history_->note({.changed = {}, .alerts = {}, .actions = {}, .validations = {record}});
  record.node = "n2";
  record.verdict = jobs::ValidationVerdict::passed;
  history_->note({.changed = {}, .alerts = {}, .actions = {}, .validations = {record}});
  const auto found = all<learning::Validation>("validation");
  ASSERT_THAT(found, SizeIs(2));
  for (const learning::Validation& validation : found)
    EXPECT_EQ(validation.verdict == learning::Verdict::failed, validation.place.node == "n1");
}

TEST_F(ClusterHistories, a_fault_names_the_job_that_it_hit_and_ends_when_the_agent_states_health) {
  run_job("ml/a", {"n1"});
  fail("n1", "i1");
  look();
  auto faults = all<learning::Fault>("fault");
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_EQ(faults[0].id, "n1/i1");
  EXPECT_EQ(faults[0].job, "ml/a");
  EXPECT_FALSE(faults[0].end);
  later(1h);
  set("n1", Verdict::pass);
  look();
  faults = all<learning::Fault>("fault");
  ASSERT_TRUE(faults[0].end);
  EXPECT_EQ(*faults[0].end, now());
}

TEST_F(ClusterHistories, an_unknown_state_does_not_end_a_fault) {
  fail("n1", "i1");
  look();
  later(1h);
  set("n1", std::nullopt);
  look();
  for (const learning::Fault& fault : all<learning::Fault>("fault"))
    EXPECT_FALSE(fault.end) << fault.id;
}

TEST_F(ClusterHistories, a_fault_of_a_deleted_node_ends_once_the_cluster_is_known_completely) {
  fail("n1", "i1");
  look();
  later(1h);
  world_.remove_node("n1");
  world_.is_complete = false;
  look();
  EXPECT_FALSE(all<learning::Fault>("fault").at(0).end);
  world_.is_complete = true;
  look();
  EXPECT_EQ(all<learning::Fault>("fault").at(0).end, now());
}

TEST_F(ClusterHistories, open_faults_are_read_later_if_too_much_waited_for_the_disk) {
  const std::string path = folder_ / "late/history.db";
  history_ = std::make_unique<ClusterHistory>(clock_, ClusterHistoryOptions{path, {}});
  for (std::size_t at = 0; at < 2 * ClusterHistory::kMostItems; ++at)
    run_job("ml/" + std::to_string(at), {"n1"}, true);
  history_->lead();
  std::filesystem::create_directory(folder_ / "late");
  settle();
  fail("n2", "i2");
  for (int time = 0; time < 5; ++time)
    look();
  const auto opened = store::History::open_read_only(path);
  ASSERT_TRUE(opened);
  EXPECT_THAT(*opened.value()->records({.types = {"fault"}}), SizeIs(1));
}

TEST_F(ClusterHistories, the_next_leader_ends_what_the_last_one_left_open) {
  fail("n1", "i1");
  look();
  later(1h);
  set("n1", Verdict::pass);
  open();
  look();
  const auto faults = all<learning::Fault>("fault");
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_TRUE(faults[0].end);
}

TEST_F(ClusterHistories, a_node_that_was_held_and_returned_has_a_repair) {
  LedgerEntry entry{.name = "n1-0123456789", .node = "n1", .cause = "xid_79"};
  entry.phase = Phase::held;
  entry.begun = now() - 2h;
  entry.updated = now();
  world_.put(entry);
  look();
  EXPECT_THAT(all<learning::Repair>("repair"), IsEmpty());
  later(1min);
  entry.returned = now();
  entry.phase = Phase::over;
  entry.updated = now();
  world_.put(entry);
  look();
  const auto repairs = all<learning::Repair>("repair");
  ASSERT_THAT(repairs, SizeIs(1));
  EXPECT_EQ(*repairs[0].end, now());
  const auto written = [this] {
    logging::MetricsText metrics;
    history_->add_metrics(metrics);
    return std::move(metrics).take();
  };
  const std::string before = written();
  look();
  EXPECT_EQ(written(), before) << "written once";
}

TEST_F(ClusterHistories, a_node_that_fails_in_many_jobs_is_a_lemon_and_one_fault_is_not_enough) {
  for (int fault = 0; fault < 8; ++fault) {
    run_job("ml/job-" + std::to_string(fault), {"n1"});
    fail("n1", "i" + std::to_string(fault));
    if (fault == 0) fail("n2", "other");
    look();
    later(12h);
    set("n1", Verdict::pass);
    set("n2", Verdict::pass);
    look();
    later(12h);
  }
  look();
  const auto search = history_->take_lemons();
  ASSERT_TRUE(search);
  ASSERT_THAT(search->lemons, SizeIs(1));
  const Lemon& lemon = search->lemons.front();
  EXPECT_EQ(lemon.node, "n1");
  EXPECT_THAT(lemon.why, HasSubstr("is a lemon: with probability"));
  EXPECT_THAT(lemon.why, HasSubstr("history of 40 nodes"));
  EXPECT_EQ(search->last_faults.at("n1"), lemon.last_fault);
  EXPECT_EQ(search->last_faults.size(), 2U);
  EXPECT_FALSE(history_->take_lemons());
}

TEST_F(ClusterHistories, a_folder_that_cannot_be_written_stops_nothing) {
  history_ = std::make_unique<ClusterHistory>(clock_, ClusterHistoryOptions{"/proc/no/history.db", {}});
  history_->lead();
  for (std::size_t at = 0; at < 2 * ClusterHistory::kMostItems; ++at)
    run_job("ml/" + std::to_string(at), {"n1"}, true);
  history_->look(world_);
  EXPECT_FALSE(history_->take_lemons());
  logging::MetricsText metrics;
  history_->add_metrics(metrics);
  EXPECT_THAT(std::move(metrics).take(), HasSubstr("autopilot_controller_history_problem 1"));
}

}  // namespace
}  // namespace autopilot::controller::cluster_history_test
