// SPDX-License-Identifier: Apache-2.0

#include "diagnostics/schedule/gpu_test_schedule.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>

#include "host/clock/system_clock.hpp"
#include "tests/support/diagnostics/gpu_fixture.hpp"

namespace autopilot::diagnostics {

namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using testing::gpu;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr Duration kPatience = 20s;

Observation told(const Subject& subject, std::string_view name, Value value) {
  Observation one;
  one.name = name;
  one.subject = subject;
  one.source = "nvml";
  one.value = std::move(value);
  return one;
}

// A machine of two GPUs whose tests end when the test of this file says so.
class ScheduleOfAnAgent : public ::testing::Test {
 protected:
  ScheduleOfAnAgent() {
    CheckResult& present = snapshot_.results.emplace_back();
    present.check = "gpu.present";
    present.observations = Observations{told(gpu(0), "gpu.state", Value(std::string("ok"))),
                                        told(gpu(1), "gpu.state", Value(std::string("ok")))};
    set_processes(0);
    GpuTestSchedule::Doors doors;
    doors.snapshot = [this] { return std::make_shared<const NodeSnapshot>(snapshot_); };
    doors.operations = [this] { return operations_; };
    doors.passes = [] { return std::vector<PassRecord>{}; };
    doors.is_offered = [](const std::string&) { return true; };
    doors.holder = [] { return std::optional<Result<std::string>>{}; };
    doors.is_reserved = [] { return false; };
    doors.look = [this](const auto& done) {
      if (!can_look_) return false;
      ++looks_;
      loop_.post([this, done] { done(look_); });
      return true;
    };
    doors.start = [this](const std::string& check, const std::vector<Subject>& gpus) {
      return start(check, gpus);
    };
    doors.cancel = [this](const std::string& id, const std::string& why) {
      cancelled_.push_back(id + ": " + why);
      end(OperationState::cancelled);
    };
    schedule_ = std::make_unique<GpuTestSchedule>(
        loop_, clock_, [this] { return policy_; }, std::move(doors));
  }

  void set_processes(std::int64_t count) {
    look_.check = "gpu.processes";
    look_.observations = Observations{told(host_subject(), "processes.all_visible", Value(true)),
                                      told(gpu(0), "processes.count", Value(count)),
                                      told(gpu(1), "processes.count", Value(count))};
  }

  Result<Operation> start(const std::string& check, const std::vector<Subject>& gpus) {
    if (refusals_ > 0) {
      --refusals_;
      loop_.stop();
      return fail(Errc::exhausted, "2 operations run already");
    }
    Operation operation;
    operation.id = "op-" + std::to_string(operations_.size());
    operation.kind = check;
    operation.owner = std::string(kScheduleOwner);
    operation.state = OperationState::running;
    operation.reservation = gpus;
    operation.created = clock_.now().wall;
    operation.started = operation.created;
    operations_.insert(operations_.begin(), operation);
    started_.push_back(check);
    if (on_start_) loop_.post(on_start_);
    return operation;
  }

  void end(OperationState state) {
    operations_.front().state = state;
    schedule_->note(operations_.front());
  }

  // Until somebody stops the loop.
  void run() {
    const auto end = loop_.after(kPatience, [this] {
      ADD_FAILURE() << "nothing happened";
      loop_.stop();
    });
    schedule_->start();
    loop_.run();
  }

  host::SystemClock clock_;
  net::EventLoop loop_;
  NodeSnapshot snapshot_;
  CheckResult look_;
  GpuTestPolicy policy_{.every = 24h, .checks = {"gpu.pcie_bandwidth", "gpu.sdc"}, .share = 0};
  std::vector<Operation> operations_;
  std::vector<std::string> started_;
  std::vector<std::string> cancelled_;
  std::function<void()> on_start_;
  int looks_ = 0;
  int refusals_ = 0;
  bool can_look_ = true;
  std::unique_ptr<GpuTestSchedule> schedule_;
};

TEST_F(ScheduleOfAnAgent, makes_one_test_after_the_other) {
  on_start_ = [this] {
    end(OperationState::succeeded);
    if (started_.size() == 2) loop_.stop();
  };
  run();
  ASSERT_THAT(started_, ElementsAre("gpu.pcie_bandwidth", "gpu.sdc"));
  EXPECT_THAT(operations_.front().reservation, SizeIs(2));
}

TEST_F(ScheduleOfAnAgent, ends_a_test_when_somebody_comes) {
  on_start_ = [this] { set_processes(2); };
  const auto watch = loop_.every(100ms, [this] {
    if (!cancelled_.empty()) loop_.stop();
  });
  run();
  ASSERT_THAT(cancelled_, SizeIs(1));
  EXPECT_THAT(cancelled_.front(), HasSubstr("op-0: gpu/0000:00:00.0 is in use by another process as well"));
  EXPECT_THAT(started_, SizeIs(1)) << "and does not begin the next one";
}

TEST_F(ScheduleOfAnAgent, asks_nobody_and_starts_nothing_where_it_is_off) {
  policy_.every = Duration{0};
  const auto end = loop_.after(200ms, [this] { loop_.stop(); });
  run();
  EXPECT_EQ(looks_, 0);
  EXPECT_TRUE(started_.empty());
}

TEST_F(ScheduleOfAnAgent, starts_nothing_on_gpus_in_use_nor_where_nobody_looks) {
  set_processes(1);
  const auto end = loop_.after(200ms, [this] { loop_.stop(); });
  run();
  EXPECT_EQ(looks_, 1) << "and does not ask again at once";
  EXPECT_TRUE(started_.empty());
}

TEST_F(ScheduleOfAnAgent, where_nobody_looks_starts_nothing) {
  can_look_ = false;
  const auto end = loop_.after(200ms, [this] { loop_.stop(); });
  run();
  EXPECT_TRUE(started_.empty());
}

TEST_F(ScheduleOfAnAgent, one_that_may_not_begin_is_put_off) {
  refusals_ = 1;
  run();
  const auto end = loop_.after(200ms, [this] { loop_.stop(); });
  loop_.run();
  EXPECT_TRUE(started_.empty()) << "not before a minute has passed";
}

using Kind = GpuTestStep::Kind;

constexpr WallTime kBegan{std::chrono::hours{24 * 365 * 50}};

// Two GPUs and two tests, a day apart.
class ScheduleOfTests : public ::testing::Test {
 protected:
  ScheduleOfTests() {
    memory_.began = kBegan;
    look_.check = "gpu.processes";
    set_processes({0, 0});
  }

  void set_processes(const std::vector<std::int64_t>& counts) {
    Observations observations;
    observations.emplace_back();
    observations.back().name = "processes.all_visible";
    observations.back().subject = host_subject();
    observations.back().value = Value(true);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      Observation one;
      one.name = "processes.count";
      one.subject = gpu(static_cast<int>(i));
      one.source = "nvml";
      one.value = Value(counts[i]);
      observations.push_back(one);
    }
    look_.observations = observations;
  }

  GpuTestStep next(WallTime now) {
    const GpuTestWorld world{.sight = {gpus_, &look_, {}},
                             .looked = looked_,
                             .seen = looked_,
                             .operations = operations_,
                             .passes = passes_,
                             .is_offered = [this](const std::string& check) { return check != not_offered_; },
                             .is_reserved = is_reserved_};
    return next_gpu_test_step(world, policy_, memory_, now);
  }

  // The next step once somebody has looked.
  GpuTestStep after_look(WallTime now) {
    EXPECT_EQ(next(now).kind, Kind::look);
    looked_ = now;
    return next(now + 100ms);
  }

  Operation running(const std::string& owner, const std::vector<Subject>& gpus, WallTime at) {
    Operation operation;
    operation.id = "op-1";
    operation.kind = "gpu.sdc";
    operation.owner = owner;
    operation.state = OperationState::running;
    operation.reservation = gpus;
    operation.created = at;
    operation.started = at;
    return operation;
  }

  const std::vector<Subject> gpus_{gpu(0), gpu(1)};
  GpuTestPolicy policy_{.every = 24h, .checks = {"gpu.pcie_bandwidth", "gpu.sdc"}, .share = 0};
  GpuTestMemory memory_;
  CheckResult look_;
  WallTime looked_{};
  std::vector<Operation> operations_;
  std::vector<PassRecord> passes_;
  std::string not_offered_;
  bool is_reserved_ = false;
};

TEST_F(ScheduleOfTests, begins_with_the_first_test_of_all_that_are_idle) {
  const GpuTestStep step = after_look(kBegan);
  EXPECT_EQ(step.kind, Kind::start);
  EXPECT_EQ(step.check, "gpu.pcie_bandwidth");
  EXPECT_THAT(step.gpus, ElementsAre(gpu(0), gpu(1)));
}

TEST_F(ScheduleOfTests, goes_on_to_the_next_test_and_then_waits_for_the_next_turn) {
  Operation over = running("schedule", gpus_, kBegan);
  over.state = OperationState::succeeded;
  over.kind = "gpu.pcie_bandwidth";
  memory_.note(over, kBegan + 5s);
  EXPECT_EQ(after_look(kBegan + 5s).check, "gpu.sdc");
  over.kind = "gpu.sdc";
  memory_.note(over, kBegan + 10s);
  const GpuTestStep step = next(kBegan + 10s);
  EXPECT_EQ(step.kind, Kind::wait);
  EXPECT_EQ(step.at, kBegan + 24h + 5s);
}

TEST_F(ScheduleOfTests, spreads_the_agents_of_a_cluster) {
  policy_.share = 0.5;
  EXPECT_EQ(next(kBegan).at, kBegan + 30min) << "the first turn is within an hour";
  Operation over = running("schedule", gpus_, kBegan);
  over.state = OperationState::succeeded;
  memory_.note(over, kBegan);
  over.kind = "gpu.pcie_bandwidth";
  memory_.note(over, kBegan);
  EXPECT_EQ(next(kBegan).at, kBegan + 24h + 72min) << "later turns within a tenth of a day";
}

TEST_F(ScheduleOfTests, a_pass_is_as_good_whoever_asked_for_it) {
  passes_ = {{gpu(0).uuid, "gpu.pcie_bandwidth", kBegan - 1h, "boot", "op-0"}};
  EXPECT_THAT(after_look(kBegan).gpus, ElementsAre(gpu(1)));
}

TEST_F(ScheduleOfTests, a_gpu_in_use_is_left_alone_and_asked_about_again) {
  set_processes({2, 0});
  EXPECT_THAT(after_look(kBegan).gpus, ElementsAre(gpu(1)));
  set_processes({2, 2});
  const GpuTestStep step = next(kBegan + 1s);
  EXPECT_EQ(step.kind, Kind::wait);
  EXPECT_EQ(step.at, kBegan + 1s + GpuTestTimes::kBusy);
  EXPECT_THAT(step.why, HasSubstr("gpu/0000:00:00.0 is in use by 2 processes"));
}

TEST_F(ScheduleOfTests, a_gpu_that_is_never_idle_keeps_no_other_from_its_tests) {
  set_processes({2, 0});
  Operation over = running("schedule", {gpu(1)}, kBegan);
  over.kind = "gpu.pcie_bandwidth";
  over.state = OperationState::succeeded;
  memory_.note(over, kBegan);
  const GpuTestStep step = after_look(kBegan + 5s);
  EXPECT_EQ(step.check, "gpu.sdc") << "the first test waits for the GPU in use";
  EXPECT_THAT(step.gpus, ElementsAre(gpu(1)));
}

TEST_F(ScheduleOfTests, switched_off_starts_nothing_and_still_watches_what_runs) {
  policy_.every = Duration{0};
  EXPECT_EQ(next(kBegan).kind, Kind::wait);
  operations_ = {running("schedule", gpus_, kBegan)};
  set_processes({1, 2});
  EXPECT_EQ(after_look(kBegan + 1s).kind, Kind::cancel);
}

TEST_F(ScheduleOfTests, a_clock_that_was_set_back_puts_no_test_off) {
  passes_ = {{gpu(0).uuid, "gpu.pcie_bandwidth", kBegan + 1000h, "boot", "op-0"},
             {gpu(1).uuid, "gpu.pcie_bandwidth", kBegan + 1000h, "boot", "op-0"}};
  memory_.not_before = kBegan + 1000h;
  looked_ = kBegan + 1000h;
  policy_.checks = {"gpu.pcie_bandwidth"};
  EXPECT_EQ(next(kBegan).at, kBegan + 24h);
  passes_.clear();
  EXPECT_EQ(next(kBegan).kind, Kind::look) << "what was seen later is old";
}

TEST_F(ScheduleOfTests, a_test_ends_when_a_job_arrives) {
  operations_ = {running("schedule", gpus_, kBegan)};
  set_processes({1, 1});
  EXPECT_EQ(after_look(kBegan + 1s).kind, Kind::wait) << "that is the test";
  EXPECT_EQ(next(kBegan + 4s).kind, Kind::look);
  looked_ = kBegan + 4s;
  set_processes({1, 2});
  const GpuTestStep step = next(kBegan + 4s);
  EXPECT_EQ(step.kind, Kind::cancel);
  EXPECT_EQ(step.id, "op-1");
  EXPECT_THAT(step.why, HasSubstr("0000:01:00.0"));
}

TEST_F(ScheduleOfTests, a_look_from_before_the_test_says_nothing_of_newcomers) {
  set_processes({2, 2});
  looked_ = kBegan - 1s;
  operations_ = {running("schedule", gpus_, kBegan)};
  EXPECT_EQ(next(kBegan).kind, Kind::look);
}

TEST_F(ScheduleOfTests, one_that_had_to_end_is_made_later) {
  Operation over = running("schedule", gpus_, kBegan);
  over.state = OperationState::cancelled;
  memory_.note(over, kBegan + 3s);
  const GpuTestStep step = next(kBegan + 3s);
  EXPECT_EQ(step.kind, Kind::wait);
  EXPECT_EQ(step.at, kBegan + 3s + GpuTestTimes::kBusy);
  EXPECT_EQ(after_look(step.at).kind, Kind::start);
}

TEST_F(ScheduleOfTests, one_that_failed_has_had_its_turn) {
  for (const OperationState state : {OperationState::failed, OperationState::timed_out}) {
    Operation over = running("schedule", {gpu(0)}, kBegan);
    over.kind = "gpu.pcie_bandwidth";
    over.state = state;
    memory_.note(over, kBegan);
    EXPECT_THAT(after_look(kBegan + 10s).gpus, ElementsAre(gpu(1)));
    looked_ = {};
  }
}

TEST_F(ScheduleOfTests, waits_for_the_tests_of_others) {
  operations_ = {running("uid 0", {gpu(0)}, kBegan)};
  EXPECT_EQ(next(kBegan).at, kBegan + GpuTestTimes::kOthers);
  Operation over = operations_[0];
  over.state = OperationState::succeeded;
  memory_.note(over, kBegan);
  EXPECT_TRUE(memory_.tried.empty()) << "theirs are told by what passed";
  operations_.clear();
  is_reserved_ = true;
  EXPECT_EQ(next(kBegan).kind, Kind::wait);
}

TEST_F(ScheduleOfTests, waits_for_a_driver_that_lists_gpus) {
  GpuTestWorld world{
      .sight = {{}, &look_, {}}, .looked = {}, .seen = {}, .operations = {}, .passes = {}, .is_offered = {}};
  EXPECT_EQ(next_gpu_test_step(world, policy_, memory_, kBegan).at, kBegan + GpuTestTimes::kUnseen);
}

TEST_F(ScheduleOfTests, leaves_out_what_the_machine_cannot_test) {
  not_offered_ = "gpu.pcie_bandwidth";
  EXPECT_EQ(after_look(kBegan).check, "gpu.sdc");
  policy_.checks = {"gpu.pcie_bandwidth"};
  EXPECT_EQ(next(kBegan).kind, Kind::wait);
}

}  // namespace

}  // namespace autopilot::diagnostics
