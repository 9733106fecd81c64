// SPDX-License-Identifier: Apache-2.0
// Telemetry of a whole simulated machine: the real helper in a process of its own, over the simulated
// library.
#include <cmath>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collect/telemetry/device_readings.hpp"
#include "collect/telemetry/gpu_reader.hpp"
#include "host/gpu/telemetry.hpp"
#include "host/open_host.hpp"
#include "tests/paths/paths.hpp"
#include "tests/support/host/run_program.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::collect::simulated_machine_test {
namespace {

using host::GpuMeasure;
using host::GpuTelemetry;
using host::TelemetryDetail;
using ::testing::ElementsAre;
using ::testing::SizeIs;
using namespace std::chrono_literals;

class SimulatedMachine : public testing::Test {
 protected:
  // Thousands of files: each machine is written once.
  static void SetUpTestSuite() { folder_ = new host::TestFolder; }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  void open(const std::string& machine) {
    tree_ = *folder_ / machine;
    if (!std::filesystem::exists(tree_))
      ASSERT_EQ(host::run_program({simulator_, "create", machine, "--now", "--out", tree_}), "");
    host::OpenOptions options;
    options.helper_program = paths::fake("fake_helper");
    options.nvml_library = paths::program("libnvidia-ml-sim.so");
    opened_ = host::open_tree_host(tree_, options);
    ASSERT_TRUE(opened_) << opened_.error().what;
    gpus_.emplace(opened_->host);
  }
  GpuTelemetry read(TelemetryDetail detail) {
    auto telemetry = gpus_->read(detail, 20s);
    EXPECT_TRUE(telemetry) << telemetry.error().what;
    return telemetry.value_or(GpuTelemetry{});
  }
  void set(const std::vector<std::string>& readings) {
    std::vector<std::string> words{simulator_, "readings", tree_};
    words.insert(words.end(), readings.begin(), readings.end());
    ASSERT_EQ(host::run_program(words), "");
  }

  static inline host::TestFolder* folder_ = nullptr;
  const std::string simulator_ = paths::program("autopilot-sim");
  std::string tree_;
  Result<host::OpenedHost> opened_ = fail(Errc::not_found, "not opened");
  std::optional<GpuReader> gpus_;
};

TEST_F(SimulatedMachine, answers_everything_that_telemetry_reads) {
  open("hgx-h100-8");
  const GpuTelemetry telemetry = read(TelemetryDetail::detailed);
  EXPECT_EQ(telemetry.state, host::DriverState::ok) << telemetry.detail;
  ASSERT_THAT(telemetry.gpus, SizeIs(8));
  for (const host::GpuSample& gpu : telemetry.gpus) {
    EXPECT_EQ(gpu.state, host::GpuState::ok);
    EXPECT_EQ(gpu.model, "NVIDIA H100 80GB HBM3");
    for (std::size_t i = 0; i < host::kGpuMeasures; ++i)
      EXPECT_FALSE(std::isnan(gpu.values[i])) << to_string(static_cast<GpuMeasure>(i));
  }
  // Five for each GPU.
  EXPECT_EQ(read(TelemetryDetail::brief).calls, 40U);
}

TEST_F(SimulatedMachine, one_gpu_changes_while_it_is_read) {
  open("hgx-h100-8");
  const GpuTelemetry before = read(TelemetryDetail::detailed);
  set({"--gpu", "3", "power.usage=650", "clocks.sm=1410", "utilization=1", "clocks.event_reasons=4",
       "nvlink.bytes_s=200000000000", "pcie.bytes_s=1000000000"});
  const GpuTelemetry first = read(TelemetryDetail::detailed);
  const GpuTelemetry second = read(TelemetryDetail::detailed);
  ASSERT_THAT(second.gpus, SizeIs(8));
  EXPECT_EQ(second.gpus[3][GpuMeasure::power_w], 650);
  EXPECT_EQ(second.gpus[3][GpuMeasure::sm_clock_mhz], 1410);
  EXPECT_EQ(second.gpus[3][GpuMeasure::utilization], 1);
  EXPECT_EQ(second.gpus[3][GpuMeasure::clocks_reasons], 4);
  EXPECT_EQ(second.gpus[2][GpuMeasure::power_w], before.gpus[2][GpuMeasure::power_w]);
  for (const GpuMeasure counter : {GpuMeasure::nvlink_bytes, GpuMeasure::pcie_bytes}) {
    EXPECT_GT(second.gpus[3][counter], first.gpus[3][counter]) << to_string(counter);
    EXPECT_EQ(second.gpus[2][counter], first.gpus[2][counter]) << to_string(counter);
  }
  set({"--clear"});
  EXPECT_EQ(read(TelemetryDetail::brief).gpus.at(3)[GpuMeasure::power_w],
            before.gpus[3][GpuMeasure::power_w]);
}

TEST_F(SimulatedMachine, knows_which_gpus_use_which_nic) {
  open("hgx-h100-8");
  DeviceReader reader(opened_->host);
  const DeviceReadings readings = reader.read();
  ASSERT_GE(readings.ports.size(), 8U);
  std::vector<std::vector<std::string>> paths;
  for (std::size_t i = 0; i < readings.ports.size(); ++i)
    paths.push_back(host::pci_path(opened_->host->files, readings.ports[i].pci_address));
  std::vector<GpuPlace> gpus;
  for (const host::GpuSample& gpu : read(TelemetryDetail::brief).gpus)
    gpus.push_back({gpu.index, host::pci_path(opened_->host->files, gpu.address)});
  const auto users = gpus_of_nics(paths, gpus);
  for (int rail = 0; rail < 8; ++rail) {
    const auto place = static_cast<std::size_t>(rail);
    EXPECT_EQ(readings.ports[place].name, "mlx5_" + std::to_string(rail));
    EXPECT_EQ(readings.counters[place].rate_bytes_s, 50e9);
    EXPECT_EQ(readings.counters[place].is_up, true);
    EXPECT_TRUE(readings.counters[place].tx_bytes) << readings.ports[place].name;
    EXPECT_THAT(users[place], ElementsAre(rail));
  }
}

TEST_F(SimulatedMachine, of_amd_has_what_its_driver_has) {
  open("mi300x-8");
  const GpuTelemetry telemetry = read(TelemetryDetail::detailed);
  EXPECT_EQ(telemetry.state, host::DriverState::ok) << telemetry.detail;
  ASSERT_THAT(telemetry.gpus, SizeIs(8));
  EXPECT_FALSE(std::isnan(telemetry.gpus[0][GpuMeasure::power_w]));
  EXPECT_FALSE(std::isnan(telemetry.gpus[0][GpuMeasure::temperature_c]));
  EXPECT_TRUE(std::isnan(telemetry.gpus[0][GpuMeasure::nvlink_bytes]));
}

TEST_F(SimulatedMachine, without_a_gpu_has_no_driver_to_call) {
  open("no-gpu");
  const GpuTelemetry telemetry = read(TelemetryDetail::detailed);
  EXPECT_EQ(telemetry.state, host::DriverState::driver_not_loaded);
  EXPECT_EQ(telemetry.calls, 0U);
}

}  // namespace
}  // namespace autopilot::collect::simulated_machine_test
