// SPDX-License-Identifier: Apache-2.0
#include "collect/telemetry/sampler.hpp"

#include <atomic>
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

#include "host/clock/system_clock.hpp"
#include "tests/fakes/fake_host.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::collect::sampler_test {
namespace {

using host::GpuMeasure;
using jobs::Metric;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;

// A driver with two GPUs.
class TwoGpus final : public host::Gpus {
 public:
  [[nodiscard]] Result<host::GpuReport> read(const std::vector<host::GpuGroup>&, MonoTime) const override {
    return host::GpuReport{};
  }
  [[nodiscard]] Result<std::vector<host::GpuEvent>> take_events(MonoTime) const override {
    return std::vector<host::GpuEvent>{};
  }
  [[nodiscard]] Result<host::GpuTelemetry> read_telemetry(host::TelemetryDetail detail,
                                                          MonoTime) const override {
    host::GpuTelemetry telemetry;
    telemetry.calls = 1;
    while (hangs)
      std::this_thread::yield();
    if (is_silent) {
      telemetry.state = host::DriverState::unresponsive;
      telemetry.detail = "nvmlDeviceGetPowerUsage has not returned for 3s";
      return telemetry;
    }
    for (const int index : {0, 1}) {
      host::GpuSample& gpu = telemetry.gpus.emplace_back();
      gpu.index = index;
      gpu.model = "H100 SXM";
      gpu.address = index == 0 ? "0000:1b:00.0" : "0000:43:00.0";
      gpu[GpuMeasure::power_w] = watts * (index + 1);
      gpu[GpuMeasure::utilization] = 1;
      if (detail == host::TelemetryDetail::detailed) gpu[GpuMeasure::ecc_corrected] = errors;
    }
    return telemetry;
  }

  std::atomic<double> watts = 300;
  std::atomic<double> errors = 5;
  std::atomic<bool> is_silent = false;
  std::atomic<bool> hangs = false;
};

struct Machine {
  host::TestFolder folder;
  fakes::SimulatedClock clock;
  host::Files files{folder.path()};
  fakes::NoKernelLog log;
  TwoGpus gpus;
  fakes::NoFilesystems filesystems;
  host::SysfsEthernet ethernet{files};
  fakes::NoTimeSync time_sync;
  fakes::NoNvme nvme;
  host::Host host{clock, files, log, gpus, filesystems, ethernet, time_sync, nvme};
};

class SamplerTest : public testing::Test {
 protected:
  SamplerTest() {
    add_gpu("0000:1b:00.0");
    add_gpu("0000:43:00.0");
    write_process('R', 100);
    write_host(1000, 100, 5'000'000);
    const std::string net = "/sys/class/net/eth0/";
    for (const auto& [file, text] : std::initializer_list<std::pair<const char*, const char*>>{
             {"operstate", "up"}, {"flags", "0x1003"}, {"carrier", "1"}, {"speed", "10000"}})
      machine_->folder.write(net + file, std::string(text) + "\n");
    write_traffic(1'000'000);
    SeenJob& job = jobs_.jobs.emplace_back();
    job.record.job = "ml/llama";
    RankProcess& rank = job.processes.emplace_back();
    rank.pid = 42;
    rank.started_ticks = 700;
    rank.gpus = {0, 1};
    sampler_.emplace(
        std::shared_ptr<const host::Host>(machine_, &machine_->host),
        SamplerOptions{.node = "gpu-001", .leaf = "leaf-1", .idle_w = 90, .spin_w = {}, .busy_w = {}});
  }
  void add_gpu(const std::string& address) {
    const std::string folder = "/sys/bus/pci/devices/" + address + "/";
    machine_->folder.write(folder + "vendor", "0x10de\n");
    machine_->folder.write(folder + "device", "0x2330\n");
    machine_->folder.write(folder + "class", "0x030200\n");
  }
  void write_process(char state, int ticks) {
    machine_->folder.write("/proc/42/stat", std::string("42 (python) ") + state +
                                                " 1 1 1 0 -1 4194304 0 0 0 0 " + std::to_string(ticks) +
                                                " 0 0 0 20 0 1 0 700 0 0\n");
  }
  void write_host(int total, int busy, int waited_us) {
    const std::string times =
        std::to_string(busy) + " 0 0 " + std::to_string(total - busy) + " 0 0 0 0 0 0\n";
    machine_->folder.write("/proc/stat", "cpu  " + times + "cpu0 " + times + "cpu1 " + times);
    machine_->folder.write("/proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=" +
                                                    std::to_string(waited_us) + "\n");
    machine_->folder.write("/proc/loadavg", "0.1 0.1 0.1 5/100 1\n");
  }
  void write_traffic(int bytes) {
    machine_->folder.write("/sys/class/net/eth0/statistics/tx_bytes", std::to_string(bytes) + "\n");
    machine_->folder.write("/sys/class/net/eth0/statistics/rx_bytes", "7\n");
  }
  // One poll, after which all reads have ended.
  void poll(const SeenJobs& jobs) {
    const MonoTime begin = real_clock_.now().mono;
    sampler_->poll(jobs, machine_->clock.now().wall + wall_step_, records_);
    while (sampler_->is_reading() && !machine_->gpus.hangs && real_clock_.now().mono - begin < 10s)
      std::this_thread::yield();
  }
  // A poll in each second, the first one at once.
  void run(int seconds) {
    for (int second = 0; second < seconds; ++second) {
      poll(jobs_);
      machine_->clock.advance(1s);
    }
  }
  template <class T>
  [[nodiscard]] std::vector<T> all() const {
    std::vector<T> found;
    for (const jobs::Record& record : records_)
      if (const T* held = std::get_if<T>(&record)) found.push_back(*held);
    return found;
  }
  static float value_of(const jobs::WindowRecord& window, Metric metric, std::size_t row = 0) {
    for (const jobs::Column& column : window.columns)
      if (column.metric == metric) return column.values.at(row);
    return jobs::kMissing;
  }

  std::shared_ptr<Machine> machine_ = std::make_shared<Machine>();
  host::SystemClock real_clock_;
  SeenJobs jobs_;
  std::optional<Sampler> sampler_;
  std::vector<jobs::Record> records_;
  Duration wall_step_{0};
};

TEST_F(SamplerTest, ten_seconds_become_one_window_with_all_tables) {
  const WallTime begin = machine_->clock.now().wall;  // a multiple of ten seconds
  run(10);
  write_process('D', 1100);
  write_host(3000, 1100, 7'000'000);
  write_traffic(21'000'000);
  machine_->gpus.errors = 8;
  run(2);
  const auto windows = all<jobs::WindowRecord>();
  ASSERT_THAT(windows, SizeIs(1));
  const jobs::WindowRecord& window = windows[0];
  EXPECT_EQ(window.time, begin + 10s);
  EXPECT_EQ(window.length, 10s);
  EXPECT_EQ(window.node, "gpu-001");
  EXPECT_THAT(window.gpus, ElementsAre(0, 1));
  EXPECT_FLOAT_EQ(value_of(window, Metric::gpu_power_w, 1), 600);
  EXPECT_FLOAT_EQ(value_of(window, Metric::gpu_ecc_corrected), 3);
  EXPECT_TRUE(std::isnan(value_of(window, Metric::gpu_tensor)));
  ASSERT_THAT(window.fast, SizeIs(1));
  EXPECT_THAT(window.fast[0].power_w, testing::Each(450));
  EXPECT_THAT(window.fast[0].power_w, SizeIs(10));
  ASSERT_THAT(window.processes, SizeIs(1));
  EXPECT_FLOAT_EQ(value_of(window, Metric::process_cpu), 1);
  EXPECT_FLOAT_EQ(value_of(window, Metric::process_disk_sleep), 0);
  EXPECT_THAT(window.nics, ElementsAre("eth0"));
  EXPECT_FLOAT_EQ(value_of(window, Metric::nic_tx_bytes_s), 2e6);
  EXPECT_FLOAT_EQ(value_of(window, Metric::nic_up), 1);
  EXPECT_FLOAT_EQ(value_of(window, Metric::host_cpu), 0.5);
  EXPECT_FLOAT_EQ(value_of(window, Metric::host_psi_io), 0.2F);
  EXPECT_FLOAT_EQ(value_of(window, Metric::host_run_queue), 2);
  EXPECT_TRUE(std::isnan(value_of(window, Metric::host_psi_cpu)));
  EXPECT_EQ(sampler_->counts().windows, 1U);
  EXPECT_EQ(sampler_->counts().driver_calls, 12U - 1) << "the last request was counted before its answer";
  EXPECT_THAT(sampler_->not_seen(), IsEmpty());
}

TEST_F(SamplerTest, the_node_is_described_once_until_it_changes) {
  run(25);
  const auto nodes = all<jobs::NodeRecord>();
  ASSERT_THAT(nodes, SizeIs(1));
  EXPECT_EQ(nodes[0].node, "gpu-001");
  EXPECT_EQ(nodes[0].leaf, "leaf-1");
  EXPECT_EQ(nodes[0].gpus, 2);
  EXPECT_EQ(nodes[0].gpu_model, "H100 SXM");
  EXPECT_EQ(nodes[0].idle_w, 90);
  EXPECT_FALSE(nodes[0].busy_w) << "a power was guessed";
  ASSERT_THAT(nodes[0].nics, SizeIs(1));
  EXPECT_EQ(nodes[0].nics[0].bytes_s, 1.25e9);
  machine_->folder.write("/sys/class/net/eth0/speed", "1000\n");
  run(20);
  ASSERT_THAT(all<jobs::NodeRecord>(), SizeIs(2));
  EXPECT_EQ(all<jobs::NodeRecord>()[1].nics[0].bytes_s, 0.125e9);
  poll({});
  run(3);
  EXPECT_THAT(all<jobs::NodeRecord>(), SizeIs(3)) << "a new job does not find the node";
}

TEST_F(SamplerTest, a_clock_that_was_set_back_drops_the_window) {
  run(5);
  wall_step_ = -5s;
  run(11);
  EXPECT_THAT(all<jobs::WindowRecord>(), IsEmpty());
  EXPECT_EQ(sampler_->counts().dropped_windows, 1U);
  run(12);
  const auto windows = all<jobs::WindowRecord>();
  ASSERT_FALSE(windows.empty());
  for (const jobs::WindowRecord& window : windows)
    EXPECT_GE(value_of(window, Metric::process_cpu), 0);
}

TEST_F(SamplerTest, polls_that_came_too_late_drop_the_window) {
  run(5);
  machine_->clock.advance(40s);
  run(3);
  EXPECT_THAT(all<jobs::WindowRecord>(), IsEmpty());
  EXPECT_EQ(sampler_->counts().dropped_windows, 1U);
}

TEST_F(SamplerTest, a_job_that_begins_in_a_window_gets_its_rest) {
  machine_->clock.advance(4500ms);
  const WallTime begin = machine_->clock.now().wall;
  run(8);
  const auto windows = all<jobs::WindowRecord>();
  ASSERT_THAT(windows, SizeIs(1));
  EXPECT_EQ(windows[0].time, begin + 5500ms);
  EXPECT_EQ(windows[0].length, 5s);
  ASSERT_THAT(windows[0].fast, SizeIs(1));
  EXPECT_THAT(windows[0].fast[0].power_w, SizeIs(5));
}

TEST_F(SamplerTest, a_driver_that_does_not_answer_leaves_the_gpus_unknown) {
  machine_->gpus.is_silent = true;
  run(24);
  const auto windows = all<jobs::WindowRecord>();
  ASSERT_THAT(windows, SizeIs(2));
  for (const jobs::WindowRecord& window : windows) {
    EXPECT_THAT(window.gpus, IsEmpty());
    EXPECT_THAT(window.fast, IsEmpty());
    EXPECT_THAT(window.processes, SizeIs(1));
  }
  EXPECT_LE(sampler_->counts().gpu_requests, 5U) << "a silent driver was asked every second";
  EXPECT_THAT(sampler_->not_seen(), ElementsAre(HasSubstr("has not returned")));
  machine_->gpus.is_silent = false;
  run(20);
  EXPECT_THAT(all<jobs::WindowRecord>().back().gpus, ElementsAre(0, 1));
  EXPECT_THAT(sampler_->not_seen(), IsEmpty());
}

TEST_F(SamplerTest, a_read_that_hangs_stops_nothing_else) {
  run(1);
  machine_->gpus.hangs = true;
  const MonoTime begin = real_clock_.now().mono;
  run(23);
  EXPECT_LT(real_clock_.now().mono - begin, 5s) << "a poll waited for the driver";
  const auto windows = all<jobs::WindowRecord>();
  machine_->gpus.hangs = false;
  ASSERT_THAT(windows, SizeIs(1));
  EXPECT_THAT(windows[0].processes, SizeIs(1));
  EXPECT_THAT(windows[0].nics, ElementsAre("eth0"));
}

TEST_F(SamplerTest, without_a_job_nothing_is_read) {
  poll({});
  poll({});
  EXPECT_THAT(records_, IsEmpty());
  EXPECT_EQ(sampler_->counts().gpu_requests, 0U);
}

}  // namespace
}  // namespace autopilot::collect::sampler_test
