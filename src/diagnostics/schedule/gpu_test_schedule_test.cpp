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
  EXPECT_THAT(cancelled_.front(), HasSubstr("op-0: gpu/0000:00:00.0 is in use by somebody else as well"));
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

}  // namespace
}  // namespace autopilot::diagnostics
