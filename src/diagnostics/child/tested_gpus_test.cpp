// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/child/tested_gpus.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/host.hpp"
#include "tests/fakes/fake_host.hpp"

namespace autopilot::diagnostics {
namespace {

using ::testing::HasSubstr;

Subject tested_gpu(int index) {
  return {.kind = SubjectKind::gpu,
          .key = "0000:0" + std::to_string(index) + ":00.0",
          .index = index,
          .uuid = {},
          .serial = {}};
}

host::GpuDevice tested_device(int index, std::optional<std::int64_t> processes,
                              const std::string& pids = {}) {
  host::GpuDevice device;
  device.subject = tested_gpu(index);
  host::GpuReading count{.name = "processes.count", .link = {}, .value = {}, .code = 3};
  if (processes) count = {.name = "processes.count", .link = {}, .value = Value(*processes), .code = 0};
  device.readings = {count, {.name = "processes.pids", .link = {}, .value = Value(pids), .code = 0}};
  return device;
}

TEST(TestedGpus, who_uses_a_gpu_is_named) {
  const std::vector<host::GpuDevice> idle{tested_device(0, 0), tested_device(1, 0)};
  EXPECT_EQ(user_of(idle).value(), std::nullopt);
  const std::vector<host::GpuDevice> busy{tested_device(0, 0), tested_device(1, 2, "4242 4243")};
  EXPECT_EQ(user_of(busy).value(), "process 4242 on GPU 1 (0000:01:00.0)");
  const std::vector<host::GpuDevice> mute{tested_device(0, std::nullopt)};
  ASSERT_FALSE(user_of(mute));
  EXPECT_THAT(user_of(mute).error().what, HasSubstr("does not list the processes on GPU 0"));
}

TEST(TestedGpus, who_cannot_be_seen_has_memory_in_use) {
  const auto with_memory = [](double used) {
    host::GpuDevice gpu = tested_device(0, 0);
    gpu.readings.push_back({.name = "memory.used", .link = {}, .value = Value(used), .code = 0});
    gpu.readings.push_back({.name = "memory.total", .link = {}, .value = Value(100.0), .code = 0});
    return std::vector{gpu};
  };
  EXPECT_EQ(user_of(with_memory(2)).value(), std::nullopt);
  EXPECT_EQ(user_of(with_memory(60)).value(), "a process that is not visible on GPU 0 (0000:00:00.0)");
}

// A driver on whose GPU processes are for so many looks.
struct BusyFor : host::Gpus {
  explicit BusyFor(int looks) : left(looks) {}
  [[nodiscard]] Result<host::GpuReport> read(const std::vector<host::GpuGroup>&, MonoTime) const override {
    ++looked;
    host::GpuReport report;
    report.gpus = {left-- > 0 ? tested_device(0, 1, "4242") : tested_device(0, 0)};
    return report;
  }
  [[nodiscard]] Result<std::vector<host::GpuEvent>> take_events(MonoTime) const override {
    return std::vector<host::GpuEvent>{};
  }
  mutable int left;
  mutable int looked = 0;
};

std::optional<std::string> user_who_stays_of(const host::Gpus& gpus) {
  const auto empty = std::make_shared<fakes::EmptyHost>();
  host::OpenedHost opened;
  opened.host = std::make_shared<host::Host>(host::Host{empty->clock, empty->files, empty->kernel_log, gpus,
                                                        empty->filesystems, empty->ethernet, empty->time_sync,
                                                        empty->nvme});
  return user_who_stays(opened, {}, std::chrono::milliseconds{0});
}

TEST(TestedGpus, what_a_test_itself_started_is_not_taken_for_somebody_who_came) {
  const BusyFor moment(4);
  EXPECT_EQ(user_who_stays_of(moment), std::nullopt);
  EXPECT_EQ(moment.looked, 5);
  const BusyFor nobody(0);
  EXPECT_EQ(user_who_stays_of(nobody), std::nullopt);
  EXPECT_EQ(nobody.looked, 1) << "nobody waits for nobody";
  EXPECT_EQ(user_who_stays_of(BusyFor(100)), "process 4242 on GPU 0 (0000:00:00.0)");
  EXPECT_EQ(user_who_stays_of(fakes::NoGpuDriver{}), std::nullopt)
      << "that nobody can say it explains nothing";
}

TEST(TestedGpus, only_gpus_that_answer_are_tested) {
  host::GpuReport report;
  report.gpus = {tested_device(0, 0), tested_device(1, 0)};
  EXPECT_EQ(gpus_to_test(report, {})->size(), 2U);
  const std::vector<Subject> one{tested_gpu(1)};
  EXPECT_EQ(gpus_to_test(report, one)->front().subject, tested_gpu(1));
  const std::vector<Subject> other{tested_gpu(9)};
  EXPECT_EQ(gpus_to_test(report, other).error().code, Errc::not_found);
  report.gpus[0].state = host::GpuState::lost;
  EXPECT_THAT(gpus_to_test(report, {}).error().what, HasSubstr("GPU 0 (0000:00:00.0) does not answer: lost"));
  EXPECT_TRUE(gpus_to_test(report, one));
  report.gpus[0].state = host::GpuState::ok;
  report.gpus[0].readings.push_back({.name = "mig", .link = {}, .value = Value(true), .code = 0});
  EXPECT_THAT(gpus_to_test(report, {}).error().what, HasSubstr("is divided into instances (MIG)"));
  EXPECT_FALSE(gpus_to_test(host::GpuReport{}, {}));
  report.state = host::DriverState::library_missing;
  EXPECT_THAT(gpus_to_test(report, one).error().what, HasSubstr("library_missing"));
}

TEST(TestedGpus, are_named_by_their_address_on_the_bus) {
  EXPECT_EQ(parse_gpu_argument("gpu/0000:3b:00.0").value().key, "0000:3b:00.0");
  for (const char* text : {"", "0000:3b:00.0", "disk/sda", "host"})
    EXPECT_FALSE(parse_gpu_argument(text)) << text;
}

}  // namespace
}  // namespace autopilot::diagnostics
