// SPDX-License-Identifier: Apache-2.0
#include "collect/discovery/gpu_holders.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/gpu/readings.hpp"

namespace autopilot::collect::gpu_holders_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class TwoGpus final : public host::Gpus {
 public:
  TwoGpus() {
    for (int index = 0; index < 2; ++index) {
      host::GpuDevice gpu;
      gpu.subject = {.kind = SubjectKind::gpu, .key = "0000:0" + std::to_string(index) + ":00.0"};
      gpu.subject.index = index;
      gpu.subject.uuid = "GPU-" + std::to_string(index);
      report.gpus.push_back(std::move(gpu));
    }
  }
  void list(std::size_t gpu, std::optional<Value> pids) {
    host::GpuReading reading;
    reading.name = host::reading::kProcessPids;
    reading.value = std::move(pids);
    report.gpus[gpu].readings.push_back(std::move(reading));
  }
  [[nodiscard]] Result<host::GpuReport> read(const std::vector<host::GpuGroup>&, MonoTime) const override {
    return report;
  }
  [[nodiscard]] Result<std::vector<host::GpuEvent>> take_events(MonoTime) const override {
    return std::vector<host::GpuEvent>{};
  }

  host::GpuReport report;
};

TEST(GpuHolders, are_the_processes_that_the_driver_lists) {
  TwoGpus gpus;
  gpus.list(0, Value{"4200 4201 x -3"});
  gpus.list(1, Value{"4201"});
  const GpuHolders holders = read_gpu_holders(gpus, {});
  EXPECT_THAT(holders.by_pid, ElementsAre(Pair(4200, ElementsAre(0)), Pair(4201, ElementsAre(0, 1))));
  EXPECT_THAT(holders.index_of_uuid, ElementsAre(Pair("GPU-0", 0), Pair("GPU-1", 1)));
  EXPECT_THAT(holders.not_seen, IsEmpty());
}

TEST(GpuHolders, that_are_unknown_are_stated) {
  TwoGpus gpus;
  gpus.list(1, std::nullopt);
  EXPECT_THAT(read_gpu_holders(gpus, {}).not_seen, ElementsAre(HasSubstr("on GPU 1")));
  gpus.report.state = host::DriverState::unresponsive;
  EXPECT_THAT(read_gpu_holders(gpus, {}).not_seen, ElementsAre(HasSubstr("does not answer")));
  EXPECT_THAT(read_gpu_holders(host::Gpus::none(), {}).not_seen, IsEmpty()) << "a machine without GPUs";
}

}  // namespace
}  // namespace autopilot::collect::gpu_holders_test
