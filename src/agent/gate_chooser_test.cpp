// SPDX-License-Identifier: Apache-2.0
#include "agent/gate_chooser.hpp"

#include <condition_variable>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>

#include "host/clock/system_clock.hpp"
#include "store/history/history.hpp"
#include "tests/support/host/test_folder.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::agent::gate_chooser_test {
namespace {

using namespace std::chrono_literals;
using preflight::ChoiceQuestion;
using preflight::TestChoice;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kQuick = "gpu.pcie_bandwidth";
constexpr const char* kSlow = "gpu.memory_test";

diagnostics::OperationKind kind(const std::string& id, Duration deadline) {
  return {.id = id, .title = id, .deadline = deadline, .test = host::Command{}, .is_told_reservation = true};
}

Operation ended_run(const std::string& id, WallTime begin, Duration time) {
  Operation operation;
  operation.id = "op-1";
  operation.kind = id;
  operation.state = OperationState::succeeded;
  operation.started = begin;
  operation.finished = begin + time;
  return operation;
}

class GateChooserTest : public ::testing::Test {
 protected:
  GateChooserTest() : operations_(clock_, "boot", true, kinds(), {}, [] {}) {
    snapshot_.boot_id = "boot";
    question_.wanted = {kQuick, kSlow, "gpu.diagnosis"};
    question_.offered = {{kQuick}, {kSlow}};
    question_.gpus = {gpu("GPU-a")};
    question_.limit = 30min;
    question_.max_age = 24h;
    question_.gpus_of_job = 1;
  }
  static std::vector<diagnostics::OperationKind> kinds() { return {kind(kQuick, 1min), kind(kSlow, 20min)}; }
  static Subject gpu(const std::string& uuid) {
    Subject one;
    one.kind = SubjectKind::gpu;
    one.uuid = uuid;
    return one;
  }
  [[nodiscard]] GateChooserParts parts(const std::string& path) {
    return {.loop = loop_,
            .clock = clock_,
            .node = "gpu-7",
            .history = path,
            .passes = passes_,
            .operations = operations_,
            .snapshot = [this] { return std::make_shared<const NodeSnapshot>(snapshot_); },
            .quick = [] { return std::vector<std::string>{kQuick}; }};
  }
  void pass(const char* test, Duration age) {
    passes_.add({{"GPU-a", test, clock_.now().wall - age, "boot", "op-0"}});
  }
  void ask(GateChooser& chooser) {
    chooser.choose(question_, [this](Result<TestChoice> choice) { answers_.push_back(std::move(choice)); });
  }
  Result<TestChoice> answer(GateChooser& chooser) {
    answers_.clear();
    ask(chooser);
    EXPECT_TRUE(answers_.empty()) << "it called back from within the call";
    EXPECT_TRUE(net::testing::run_until(loop_, [this] { return !answers_.empty(); }));
    return answers_.empty() ? fail(Errc::timed_out, "no answer") : answers_.front();
  }

  net::EventLoop loop_;
  const host::SystemClock clock_;
  NodeSnapshot snapshot_;
  diagnostics::PassBook passes_{{}, [](const auto&) {}};
  diagnostics::Operations operations_;
  ChoiceQuestion question_;
  std::vector<Result<TestChoice>> answers_;
};

TEST_F(GateChooserTest, an_empty_past_and_old_passes_leave_out_what_is_not_worth_its_time) {
  GateChooser chooser(parts("history.db"),
                      [](const auto&, const auto&, WallTime) { return learning::NodePast{}; });
  pass(kQuick, 48h);
  pass(kSlow, 48h);
  const auto choice = answer(chooser);
  ASSERT_TRUE(choice) << choice.error().what;
  // What the node does not offer is not chosen about.
  EXPECT_THAT(choice->tests, ElementsAre(kQuick, "gpu.diagnosis"));
  ASSERT_EQ(choice->left_out.size(), 1U);
  EXPECT_EQ(choice->left_out[0].id, kSlow);
  EXPECT_THAT(choice->left_out[0].why, HasSubstr("it would take 0.33 GPU-hours"));
  EXPECT_FALSE(choice->are_all);
}

TEST_F(GateChooserTest, a_pass_that_still_counts_is_kept) {
  GateChooser chooser(parts("history.db"),
                      [](const auto&, const auto&, WallTime) { return learning::NodePast{}; });
  pass(kQuick, 48h);
  pass(kSlow, 2h);
  EXPECT_THAT(answer(chooser)->tests, ElementsAre(kQuick, kSlow, "gpu.diagnosis"));
}

TEST_F(GateChooserTest, a_gpu_that_has_never_passed_gets_all) {
  GateChooser chooser(parts("history.db"),
                      [](const auto&, const auto&, WallTime) { return learning::NodePast{}; });
  pass(kQuick, 48h);
  const auto choice = answer(chooser);
  EXPECT_TRUE(choice->are_all);
  EXPECT_THAT(choice->reason, HasSubstr("no pass of gpu.memory_test on all GPUs is recorded"));
}

TEST_F(GateChooserTest, the_last_run_states_how_long_a_diagnostic_takes) {
  std::vector<Operation> known{ended_run(kSlow, clock_.now().wall - 48h, 6min)};
  const diagnostics::Operations operations(clock_, "boot", true, kinds(), std::move(known), [] {});
  GateChooserParts parts_of = parts("history.db");
  GateChooser chooser({.loop = parts_of.loop,
                       .clock = parts_of.clock,
                       .node = parts_of.node,
                       .history = parts_of.history,
                       .passes = parts_of.passes,
                       .operations = operations,
                       .snapshot = parts_of.snapshot,
                       .quick = parts_of.quick},
                      [](const auto&, const auto&, WallTime) { return learning::NodePast{}; });
  pass(kQuick, 48h);
  pass(kSlow, 48h);
  EXPECT_THAT(answer(chooser)->left_out.at(0).why, HasSubstr("it would take 0.1 GPU-hours"));
}

TEST_F(GateChooserTest, the_records_of_this_node_are_read_from_the_file) {
  const host::TestFolder folder;
  const std::string path = folder.path() + "/history.db";
  const WallTime now = clock_.now().wall;
  learning::Repair repair;
  repair.id = "r1";
  repair.place.node = "gpu-7";
  repair.begin = now - 4h;
  repair.end = now - 3h;
  repair.action = "replace_gpu";
  {
    const auto opened = store::History::open(path, now);
    ASSERT_TRUE(opened) << opened.error().what;
    ASSERT_TRUE(opened->history->put(std::vector<learning::HistoryRecord>{repair}));
  }
  GateChooser chooser(parts(path));
  pass(kQuick, 48h);
  pass(kSlow, 2h);
  const auto choice = answer(chooser);
  ASSERT_TRUE(choice) << choice.error().what;
  EXPECT_THAT(choice->reason, HasSubstr("because a repair of the node ended 3h ago"));
  EXPECT_LE(choice->proofs_since, *repair.end);
  EXPECT_GT(choice->proofs_since, *repair.end - 1s);
}

TEST_F(GateChooserTest, without_history_nothing_is_chosen) {
  const host::TestFolder folder;
  GateChooser missing(parts(folder.path() + "/history.db"));
  EXPECT_EQ(answer(missing).error().code, Errc::not_found);
  std::ofstream(folder.path() + "/text.db") << "this is not a database, but a text that is long enough";
  GateChooser damaged(parts(folder.path() + "/text.db"));
  EXPECT_FALSE(answer(damaged));
  GateChooser disabled(parts(""));
  EXPECT_THAT(answer(disabled).error().what, HasSubstr("history.enabled"));
}

TEST_F(GateChooserTest, no_offered_diagnostic_is_an_error) {
  GateChooser chooser(parts("history.db"),
                      [](const auto&, const auto&, WallTime) { return learning::NodePast{}; });
  question_.offered.clear();
  EXPECT_EQ(answer(chooser).error().code, Errc::unsupported);
}

// What a thread that does not return waits for.
struct Disk {
  std::mutex mutex;
  std::condition_variable change;
  bool is_hung = true;
  int reads = 0;
};

TEST_F(GateChooserTest, a_disk_that_hangs_costs_two_seconds_once) {
  const auto disk = std::make_shared<Disk>();
  GateChooser chooser(parts("history.db"),
                      [disk](const auto&, const auto&, WallTime) -> Result<learning::NodePast> {
                        std::unique_lock lock(disk->mutex);
                        ++disk->reads;
                        disk->change.wait(lock, [&] { return !disk->is_hung; });
                        return learning::NodePast{};
                      });
  pass(kQuick, 48h);
  pass(kSlow, 48h);
  ask(chooser);
  EXPECT_EQ(answer(chooser).error().code, Errc::timed_out);
  EXPECT_THAT(answer(chooser).error().what, HasSubstr("an earlier read of history has not ended"));
  {
    const std::lock_guard lock(disk->mutex);
    EXPECT_EQ(disk->reads, 1);
    disk->is_hung = false;
    disk->change.notify_all();
  }
  EXPECT_TRUE(net::testing::run_until(loop_, [&] { return answer(chooser).has_value(); }));
}

}  // namespace
}  // namespace autopilot::agent::gate_chooser_test
