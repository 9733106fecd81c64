// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/helper_gpus.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

#include "host/clock/system_clock.hpp"
#include "host/files/test_folder.hpp"
#include "host/gpu/readings.hpp"
#include "tests/paths/paths.hpp"

namespace autopilot::host {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

const std::vector<GpuGroup> kTemperature{GpuGroup::temperature};

// The real helper code in a process of its own, over the fake library; `conduct` is FAKE_NVML.
Command nvml_helper(const std::string& conduct) {
  Command command{.program = paths::fake("fake_helper"),
                  .arguments = {"nvml", "--library", paths::fake("fake_nvml.so")},
                  .environment = own_environment()};
  command.environment.push_back("FAKE_NVML=" + conduct);
  return command;
}

Command helper(const std::string& kind) {
  return {.program = paths::fake("fake_helper"), .arguments = {kind}, .environment = own_environment()};
}

class HelperGpusTest : public testing::Test {
 protected:
  [[nodiscard]] MonoTime in(Duration duration) const { return clock_.now().mono + duration; }

  SystemClock clock_;
  TestFolder folder_;
  Files files_{folder_.path()};
};

TEST_F(HelperGpusTest, reads_through_another_process) {
  const HelperGpus gpus(GpuVendor::nvidia, nvml_helper(""), clock_, GpuScan(files_));
  const auto report = gpus.read(kTemperature, in(20s));
  ASSERT_TRUE(report) << report.error().what;
  EXPECT_EQ(report->state, DriverState::ok) << report->detail;
  ASSERT_EQ(report->gpus.size(), 3U);
  EXPECT_EQ(report->gpus[2].find(reading::kTemperatureGpu)->value, Value{std::int64_t{42}});
  EXPECT_GT(report->time.mono, MonoTime{});
  EXPECT_EQ(gpus.driver_calls(), report->calls);

  const auto events = gpus.take_events(in(20s));
  ASSERT_TRUE(events) << events.error().what;
  ASSERT_EQ(events->size(), 1U);
  EXPECT_EQ(events->front().code, 79);
}

TEST_F(HelperGpusTest, equal_questions_in_a_row_are_asked_once) {
  const HelperGpus gpus(GpuVendor::nvidia, nvml_helper(""), clock_, GpuScan(files_));
  ASSERT_TRUE(gpus.read({GpuGroup::temperature, GpuGroup::pcie}, in(20s)));
  const std::uint64_t calls = gpus.driver_calls();
  const auto again = gpus.read(kTemperature, in(20s));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->gpus.size(), 3U);
  EXPECT_EQ(again->calls, 0U);
  EXPECT_NE(again->gpus[0].find(reading::kTemperatureGpu), nullptr);
  EXPECT_EQ(again->gpus[0].find(reading::kPcieWidth), nullptr) << "asked for by somebody else";
  EXPECT_EQ(gpus.driver_calls(), calls);
  ASSERT_TRUE(gpus.read({GpuGroup::ecc}, in(20s)));
  EXPECT_GT(gpus.driver_calls(), calls);
}

// Which check asks first is chance; what a check is told is not.
TEST_F(HelperGpusTest, a_shared_answer_holds_what_a_question_of_its_own_would) {
  const auto names_in = [](const Result<GpuReport>& report) {
    std::vector<std::string> names;
    if (report && !report->gpus.empty())
      for (const GpuReading& one : report->gpus.back().readings)
        names.emplace_back(one.name);
    std::ranges::sort(names);
    return names;
  };
  for (const GpuGroup group : {GpuGroup::identity, GpuGroup::clocks, GpuGroup::pcie, GpuGroup::processes}) {
    const HelperGpus alone(GpuVendor::nvidia, nvml_helper(""), clock_, GpuScan(files_));
    const HelperGpus shared(GpuVendor::nvidia, nvml_helper(""), clock_, GpuScan(files_));
    ASSERT_TRUE(
        shared.read({GpuGroup::identity, GpuGroup::clocks, GpuGroup::pcie, GpuGroup::processes}, in(20s)));
    EXPECT_EQ(names_in(shared.read({group}, in(20s))), names_in(alone.read({group}, in(20s))));
  }
}

TEST_F(HelperGpusTest, gpus_of_the_pci_tree_are_asked_for_by_address) {
  for (const char* address : {"0000:1b:00.0", "0000:1c:00.0", "0000:1d:00.0"}) {
    const std::string folder = std::string("/sys/bus/pci/devices/") + address;
    folder_.write(folder + "/vendor", "0x10de\n");
    folder_.write(folder + "/device", "0x2330\n");
    folder_.write(folder + "/class", "0x030200\n");
  }
  const HelperGpus gpus(GpuVendor::nvidia, nvml_helper("handle1=15"), clock_, GpuScan(files_));
  const auto report = gpus.read(kTemperature, in(20s));
  ASSERT_TRUE(report);
  ASSERT_EQ(report->gpus.size(), 3U);
  EXPECT_EQ(report->gpus[2].subject.key, "0000:1c:00.0");
  EXPECT_EQ(report->gpus[2].state, GpuState::lost);
}

TEST_F(HelperGpusTest, a_hanging_call_is_an_unresponsive_driver_and_is_named) {
  const HelperGpus gpus(GpuVendor::nvidia, nvml_helper("hang"), clock_, GpuScan(files_));
  const auto report = gpus.read(kTemperature, in(2s));
  ASSERT_TRUE(report);
  EXPECT_EQ(report->state, DriverState::unresponsive);
  EXPECT_THAT(report->detail, HasSubstr("nvmlDeviceGetCount_v2 has not returned"));
  EXPECT_EQ(gpus.stats().starts, 1U);

  const MonoTime before = clock_.now().mono;
  const auto next = gpus.read({GpuGroup::ecc}, in(20s));
  ASSERT_TRUE(next);
  EXPECT_EQ(next->state, DriverState::unresponsive);
  EXPECT_LT(clock_.now().mono - before, HelperGpus::kPause) << "it waited for a driver known to hang";
  EXPECT_FALSE(gpus.take_events(in(20s)));
}

TEST_F(HelperGpusTest, callers_waiting_for_a_hanging_question_share_its_answer) {
  const HelperGpus gpus(GpuVendor::nvidia, nvml_helper("hang"), clock_, GpuScan(files_));
  std::vector<std::jthread> callers;
  std::array<DriverState, 4> states{};
  const MonoTime before = clock_.now().mono;
  for (DriverState& state : states)
    callers.emplace_back([&gpus, &state, deadline = in(3s)] {
      state = gpus.read({GpuGroup::identity}, deadline).value().state;
    });
  callers.clear();
  for (const DriverState state : states)
    EXPECT_EQ(state, DriverState::unresponsive);
  EXPECT_LT(clock_.now().mono - before, 10s) << "one after the other would take four deadlines";
}

TEST_F(HelperGpusTest, a_library_that_ends_the_process_is_a_crash) {
  const HelperGpus gpus(GpuVendor::nvidia, nvml_helper("abort"), clock_, GpuScan(files_));
  const auto report = gpus.read(kTemperature, in(20s));
  ASSERT_TRUE(report);
  EXPECT_EQ(report->state, DriverState::crashed);
  EXPECT_FALSE(report->detail.empty());
}

TEST_F(HelperGpusTest, a_helper_that_lies_or_dies_is_a_crash) {
  for (const char* kind : {"lies_about_gpus", "dies_at_once"}) {
    const HelperGpus gpus(GpuVendor::nvidia, helper(kind), clock_, GpuScan(files_));
    const auto report = gpus.read(kTemperature, in(20s));
    ASSERT_TRUE(report) << kind;
    EXPECT_EQ(report->state, DriverState::crashed) << kind;
    EXPECT_FALSE(report->detail.empty()) << kind;
  }
}

TEST_F(HelperGpusTest, a_program_that_cannot_be_started_is_an_error) {
  const HelperGpus gpus(GpuVendor::nvidia, {.program = "/nonexistent", .arguments = {}, .environment = {}},
                        clock_, GpuScan(files_));
  EXPECT_FALSE(gpus.read(kTemperature, in(5s)));
}

TEST(NoGpus, says_that_there_is_no_library) {
  const NoGpus gpus(DriverState::library_missing, "the tree has no nvml.yaml");
  const auto report = gpus.read(kTemperature, MonoTime{});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->state, DriverState::library_missing);
  EXPECT_EQ(report->detail, "the tree has no nvml.yaml");
  EXPECT_FALSE(gpus.take_events(MonoTime{})) << "silence would pass for health";
}

}  // namespace
}  // namespace autopilot::host
