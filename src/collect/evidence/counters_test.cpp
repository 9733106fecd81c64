// SPDX-License-Identifier: Apache-2.0
#include "collect/evidence/counters.hpp"

#include <atomic>
#include <boost/json.hpp>
#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>

#include "host/gpu/telemetry.hpp"
#include "host/process/processes.hpp"
#include "tests/fakes/fake_host.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::collect::counters_test {
namespace {

namespace json = boost::json;

using namespace std::chrono_literals;
using host::GpuMeasure;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// One GPU, whose counter of replays grows with each reading.
class GrowingGpu final : public host::Gpus {
 public:
  [[nodiscard]] Result<host::GpuReport> read(const std::vector<host::GpuGroup>&, MonoTime) const override {
    return host::GpuReport{};
  }
  [[nodiscard]] Result<std::vector<host::GpuEvent>> take_events(MonoTime) const override {
    return std::vector<host::GpuEvent>{};
  }
  [[nodiscard]] Result<host::GpuTelemetry> read_telemetry(host::TelemetryDetail, MonoTime) const override {
    ++calls;
    while (hangs)
      std::this_thread::yield();
    host::GpuTelemetry telemetry;
    if (is_silent) {
      telemetry.state = host::DriverState::unresponsive;
      return telemetry;
    }
    host::GpuSample& gpu = telemetry.gpus.emplace_back();
    gpu.index = 3;
    gpu.model = "H100 SXM";
    gpu.address = "0000:1b:00.0";
    gpu[GpuMeasure::power_w] = 412.5;
    gpu[GpuMeasure::clocks_reasons] = 0x84;
    gpu[GpuMeasure::pcie_replays] = calls;
    return telemetry;
  }

  mutable std::atomic<int> calls = 0;
  std::atomic<bool> is_silent = false;
  std::atomic<bool> hangs = false;
};

struct CountedMachine {
  host::TestFolder folder;
  fakes::SimulatedClock clock;
  host::Files files{folder.path()};
  fakes::NoKernelLog log;
  GrowingGpu gpus;
  fakes::NoFilesystems filesystems;
  host::SysfsEthernet ethernet{files};
  fakes::NoTimeSync time_sync;
  fakes::NoNvme nvme;
  host::Host host{clock, files, log, gpus, filesystems, ethernet, time_sync, nvme};
};

class EvidenceCounters : public testing::Test {
 protected:
  EvidenceCounters() {
    write("/sys/bus/pci/devices/0000:1b:00.0/vendor", "0x10de");
    write("/sys/bus/pci/devices/0000:1b:00.0/device", "0x2330");
    write("/sys/bus/pci/devices/0000:1b:00.0/class", "0x030200");
    for (const auto& [file, text] : std::initializer_list<std::pair<const char*, const char*>>{
             {"operstate", "up"}, {"flags", "0x1003"}, {"carrier", "1"}, {"statistics/rx_errors", "7"}})
      write(std::string("/sys/class/net/eth0/") + file, text);
    write("/proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=123");
    process_.pid = ::getpid();
    process_.started_ticks =
        host::parse_task_state(host::Files().read("/proc/self/stat").value())->started_ticks;
    process_.rank = 5;
  }
  void write(const std::string& path, const std::string& text) { machine_->folder.write(path, text + "\n"); }
  json::object capture(Duration part = 20s) {
    const CapturedText captured =
        capture_counters({machine_, &machine_->host}, {process_}, runner_, {.apart = 1ms, .part = part});
    problem_ = captured.problem;
    return json::parse(captured.text).as_object();
  }

  const std::shared_ptr<CountedMachine> machine_ = std::make_shared<CountedMachine>();
  RankProcess process_;
  DeadlineRunner runner_;
  std::string problem_;
};

TEST_F(EvidenceCounters, each_value_is_there_for_both_readings) {
  const json::object counters = capture();
  EXPECT_EQ(problem_, "");
  EXPECT_EQ(counters.at("times").as_array().size(), 2U);
  const json::object& gpu = counters.at("gpus").at(0).as_object();
  EXPECT_EQ(gpu.at("index"), 3);
  EXPECT_EQ(gpu.at("powerW"), json::parse("[412.5,412.5]"));
  EXPECT_EQ(gpu.at("pcieReplays"), json::parse("[1,2]"));
  EXPECT_EQ(gpu.at("throttle").at(0), json::parse(R"(["sw_power_cap","hw_power_brake"])"));
  EXPECT_FALSE(gpu.contains("nvlinkErrors")) << "it was not measured";
  const json::object& nic = counters.at("nics").at(0).as_object();
  EXPECT_EQ(nic.at("name"), "eth0");
  EXPECT_EQ(nic.at("up"), json::parse("[true,true]"));
  EXPECT_EQ(nic.at("counters").at("statistics/rx_errors"), json::parse("[7,7]"));
  EXPECT_EQ(counters.at("host").at("psiIoUs"), json::parse("[123,123]"));
  const json::object& process = counters.at("processes").at(0).as_object();
  EXPECT_EQ(process.at("rank"), 5);
  EXPECT_EQ(process.at("pid"), ::getpid());
  EXPECT_TRUE(process.at("state").at(1).is_string());
  EXPECT_TRUE(process.at("cpuTicks").at(1).is_number());
  EXPECT_TRUE(counters.at("missing").as_array().empty());
}

TEST_F(EvidenceCounters, a_driver_that_does_not_answer_is_stated_and_costs_no_other_part) {
  machine_->gpus.is_silent = true;
  const json::object counters = capture();
  EXPECT_EQ(problem_, "GPUs: the driver is unresponsive");
  EXPECT_EQ(counters.at("missing"), json::parse(R"(["GPUs: the driver is unresponsive"])"));
  EXPECT_TRUE(counters.at("gpus").as_array().empty());
  EXPECT_FALSE(counters.at("nics").as_array().empty());
}

TEST_F(EvidenceCounters, a_part_that_hangs_is_not_read_again) {
  machine_->gpus.hangs = true;
  const json::object counters = capture(50ms);
  EXPECT_THAT(problem_, HasSubstr("GPUs: no answer in time"));
  EXPECT_EQ(machine_->gpus.calls, 1);
  EXPECT_EQ(counters.at("host").at("psiIoUs"), json::parse("[123,123]"));
  machine_->gpus.hangs = false;
}

TEST_F(EvidenceCounters, a_process_that_ended_has_no_values) {
  ++process_.started_ticks;
  const json::object counters = capture();
  EXPECT_EQ(counters.at("processes"),
            json::parse(R"([{"rank":5,"pid":)" + std::to_string(::getpid()) + "}]"));
}

}  // namespace
}  // namespace autopilot::collect::counters_test
