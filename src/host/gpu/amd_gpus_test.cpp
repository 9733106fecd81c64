// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/amd_gpus.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/clock/system_clock.hpp"
#include "host/gpu/helper_gpus.hpp"
#include "host/gpu/kfd_processes.hpp"
#include "host/gpu/readings.hpp"
#include "tests/paths/paths.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::host {
namespace {

using namespace std::chrono_literals;
using namespace reading;

const std::vector<GpuGroup> kAll{GpuGroup::identity,    GpuGroup::ecc,  GpuGroup::clocks,
                                 GpuGroup::temperature, GpuGroup::pcie, GpuGroup::power,
                                 GpuGroup::processes};

const std::string kKfd = "/sys/class/kfd/kfd/";
constexpr int kLocation = 5 << 8;  // of 0000:05:00.0

// One MI300X as its driver shows it.
class AmdGpusTest : public testing::Test {
 protected:
  AmdGpusTest() {
    add_gpu("0000:05:00.0", "0x120000");
    folder_.write("/sys/module/amdgpu/initstate", "live\n");
    write("unique_id", "8a3c51f2b0d4e671\n");
    write("serial_number", "692231000701\n");
    write("product_name", "AMD Instinct MI300X OAM\n");
    write("gpu_busy_percent", "97\n");
    write("mem_info_vram_total", "206141652992\n");
    write("mem_info_vram_used", "297795584\n");
    write("pcie_replay_count", "4\n");
    write("pp_dpm_sclk", "0: 132Mhz *\n1: 2100Mhz\n");
    write("ras/features", "feature mask: 0x5efb\n");
    write("ras/aca_umc", "ue: 1\nce: 12\nde: 2\n");
    write("ras/aca_gfx", "ue: 3\nce: 0\nde: 0\n");
    write("ras/gpu_vram_bad_pages", "0x0001a2b0 : 0x00001000 : R\n0x0001a2b1 : 0x00001000 : P\n");
    write("hwmon/hwmon4/name", "amdgpu\n");
    write("hwmon/hwmon4/temp2_label", "junction\n");
    write("hwmon/hwmon4/temp2_input", "61000\n");
    write("hwmon/hwmon4/temp2_crit", "100000\n");
    write("hwmon/hwmon4/temp3_label", "mem\n");
    write("hwmon/hwmon4/temp3_input", "54000\n");
    write("hwmon/hwmon4/power1_input", "512000000\n");
    write("hwmon/hwmon4/power1_cap", "750000000\n");
    write("hwmon/hwmon4/freq1_input", "2100000000\n");
  }

  void add_gpu(const std::string& address, const std::string& kind, const std::string& driver = "amdgpu") {
    const std::string device = "/sys/bus/pci/devices/" + address;
    folder_.write(device + "/vendor", "0x1002\n");
    folder_.write(device + "/device", "0x74a1\n");
    folder_.write(device + "/class", kind + "\n");
    if (driver.empty()) return;
    folder_.write("/sys/bus/pci/drivers/" + driver + "/uevent", "");
    folder_.link(device + "/driver", "/sys/bus/pci/drivers/" + driver);
  }
  void write(const std::string& file, const std::string& text) {
    folder_.write("/sys/bus/pci/devices/0000:05:00.0/" + file, text);
  }
  void add_compute_node(int number, int gpu_id, int location) {
    const std::string node = kKfd + "topology/nodes/" + std::to_string(number);
    folder_.write(node + "/gpu_id", std::to_string(gpu_id) + "\n");
    folder_.write(node + "/properties",
                  "simd_count 1216\nlocation_id " + std::to_string(location) + "\ndomain 0\n");
  }
  [[nodiscard]] GpuReport read(const std::vector<GpuGroup>& groups = kAll) const {
    auto report = AmdGpus(files_, clock_).read(groups, clock_.now().mono + 5s);
    EXPECT_TRUE(report) << report.error().what;
    return report.value_or(GpuReport{});
  }
  static std::optional<Value> value(const GpuDevice& gpu, std::string_view name) {
    const GpuReading* found = gpu.find(name);
    return found == nullptr ? std::nullopt : found->value;
  }
  static std::string why_missing(const GpuDevice& gpu, std::string_view name) {
    const GpuReading* found = gpu.find(name);
    return found == nullptr ? "no reading" : reading_code_word(found->code);
  }

  SystemClock clock_;
  TestFolder folder_;
  Files files_{folder_.path()};
};

TEST_F(AmdGpusTest, a_gpu_is_read_from_its_files) {
  const GpuReport report = read();
  EXPECT_EQ(report.state, DriverState::ok);
  ASSERT_EQ(report.gpus.size(), 1U);
  const GpuDevice& gpu = report.gpus.front();
  EXPECT_EQ(gpu.state, GpuState::ok);
  EXPECT_EQ(gpu.subject.key, "0000:05:00.0");
  EXPECT_EQ(gpu.subject.index, 0);
  EXPECT_EQ(gpu.subject.uuid, "8a3c51f2b0d4e671");
  EXPECT_EQ(gpu.subject.serial, "692231000701");
  EXPECT_EQ(gpu.name, "AMD Instinct MI300X OAM");
  EXPECT_EQ(value(gpu, kEccEnabled), Value{true});
  EXPECT_EQ(value(gpu, kEccVolatileUncorrected), Value{std::int64_t{4}});
  EXPECT_EQ(value(gpu, kEccVolatileCorrected), Value{std::int64_t{12}});
  EXPECT_EQ(value(gpu, kEccVolatileDeferred), Value{std::int64_t{2}});
  EXPECT_EQ(value(gpu, kEccDramVolatileUncorrected), Value{std::int64_t{1}});
  EXPECT_EQ(value(gpu, kEccSramVolatileUncorrected), Value{std::int64_t{3}});
  EXPECT_EQ(value(gpu, kBadPagesRetired), Value{std::int64_t{1}});
  EXPECT_EQ(value(gpu, kBadPagesPending), Value{std::int64_t{1}});
  EXPECT_EQ(value(gpu, kBadPagesFailed), Value{std::int64_t{0}});
  EXPECT_EQ(value(gpu, kUtilization), Value{0.97});
  EXPECT_EQ(value(gpu, kClocksSm), Value{2100.0});
  EXPECT_EQ(value(gpu, kClocksSmMax), Value{std::int64_t{2100}});
  EXPECT_EQ(value(gpu, kTemperatureGpu), Value{61.0});
  EXPECT_EQ(value(gpu, kTemperatureSlowdown), Value{100.0});
  EXPECT_EQ(value(gpu, kTemperatureMemory), Value{54.0});
  EXPECT_EQ(value(gpu, kPcieReplays), Value{std::int64_t{4}});
  EXPECT_EQ(value(gpu, kPowerUsage), Value{512.0});
  EXPECT_EQ(value(gpu, kPowerLimit), Value{750.0});
  EXPECT_EQ(value(gpu, kMemoryTotal), Value{std::int64_t{206141652992}});
}

TEST_F(AmdGpusTest, what_a_gpu_does_not_have_is_not_offered_and_what_cannot_be_read_is_unreadable) {
  write("ras/aca_gfx", "Query currently inaccessible\n");
  write("hwmon/hwmon4/power1_cap_default", "\n");
  const GpuReport report = read();
  ASSERT_EQ(report.gpus.size(), 1U);
  const GpuDevice& gpu = report.gpus.front();
  EXPECT_EQ(why_missing(gpu, kTemperatureMemoryMax), "not_supported");
  EXPECT_EQ(why_missing(gpu, kPowerLimitDefault), "unreadable");
  EXPECT_EQ(value(gpu, kEccVolatileUncorrected), Value{std::int64_t{1}}) << "what is known is there at least";
  EXPECT_EQ(why_missing(gpu, kEccSramVolatileUncorrected), "unreadable") << "nothing known is not 0";
  EXPECT_EQ(why_missing(gpu, kProcesses), "not_supported") << "there is no compute driver";
}

TEST_F(AmdGpusTest, counters_of_older_drivers_have_other_names) {
  std::filesystem::remove_all(folder_.path() + "/sys/bus/pci/devices/0000:05:00.0/ras");
  write("ras/umc_err_count", "ue: 0\nce: 5\n");
  write("ras/sdma_err_count", "ue: 1\nce: 0\n");
  const GpuReport report = read({GpuGroup::ecc});
  ASSERT_EQ(report.gpus.size(), 1U);
  EXPECT_EQ(value(report.gpus[0], kEccVolatileUncorrected), Value{std::int64_t{1}});
  EXPECT_EQ(value(report.gpus[0], kEccVolatileCorrected), Value{std::int64_t{5}});
  EXPECT_EQ(why_missing(report.gpus[0], kBadPagesRetired), "not_supported");
}

TEST_F(AmdGpusTest, a_gpu_without_error_counters_offers_none) {
  std::filesystem::remove_all(folder_.path() + "/sys/bus/pci/devices/0000:05:00.0/ras");
  const GpuReport report = read({GpuGroup::ecc});
  ASSERT_EQ(report.gpus.size(), 1U);
  for (const std::string_view name : {kEccEnabled, kEccVolatileUncorrected, kBadPagesRetired})
    EXPECT_EQ(why_missing(report.gpus[0], name), "not_supported") << name;
}

TEST_F(AmdGpusTest, a_gpu_that_sleeps_is_not_woken) {
  write("power/runtime_status", "suspended\n");
  const GpuReport report = read();
  ASSERT_EQ(report.gpus.size(), 1U);
  EXPECT_EQ(report.gpus[0].state, GpuState::asleep);
  EXPECT_TRUE(report.gpus[0].readings.empty());
}

TEST_F(AmdGpusTest, a_gpu_that_left_the_bus_is_lost) {
  write("config", std::string(64, '\xff'));
  ASSERT_EQ(read().gpus.size(), 1U);
  EXPECT_EQ(read().gpus[0].state, GpuState::lost);
  write("config", std::string("\x02\x10\xa1\x74", 4) + std::string(60, '\xff'));
  EXPECT_EQ(read().gpus[0].state, GpuState::ok);
}

TEST_F(AmdGpusTest, only_gpus_that_the_driver_has_are_listed) {
  add_gpu("0000:26:00.0", "0x120000", "vfio-pci");
  add_gpu("0000:46:00.0", "0x038000", "");
  add_gpu("0000:65:00.0", "0x030000", "radeon");
  add_gpu("0000:85:00.0", "0x040300");
  const GpuReport report = read({GpuGroup::identity});
  ASSERT_EQ(report.gpus.size(), 1U);
  const auto known = scan_amd_gpus(files_);
  ASSERT_TRUE(known);
  EXPECT_EQ(known->size(), 3U) << "neither the console of a server nor a sound function";
}

TEST_F(AmdGpusTest, without_its_module_the_driver_is_not_loaded) {
  std::filesystem::remove_all(folder_.path() + "/sys/module/amdgpu");
  EXPECT_EQ(read().state, DriverState::ok) << "nobody waits for the driver";
  add_gpu("0000:26:00.0", "0x120000", "");
  EXPECT_EQ(read().state, DriverState::driver_not_loaded);
}

TEST_F(AmdGpusTest, processes_are_those_that_hold_memory_to_compute) {
  add_compute_node(0, 0, 0);
  add_compute_node(1, 11743, kLocation);
  add_compute_node(2, 11744, (1 << 28) + kLocation);  // a part of the same GPU
  folder_.write(kKfd + "proc/4242/vram_11744", "4096\n");
  folder_.write(kKfd + "proc/4242/vram_11743", "17179869184\n");
  folder_.write(kKfd + "proc/777/vram_11743", "4096\n");
  folder_.write(kKfd + "proc/900/vram_11743", "0\n");
  folder_.write(kKfd + "proc/garbage/vram_11743", "1\n");
  const auto processes = read_kfd_processes(files_);
  ASSERT_TRUE(processes) << processes.error().what;
  EXPECT_THAT(processes->by_gpu,
              testing::ElementsAre(testing::Pair("0000:05:00.0", testing::ElementsAre(777, 4242))));
  EXPECT_THAT(processes->divided, testing::ElementsAre("0000:05:00.0"));
  const GpuReport report = read({GpuGroup::processes});
  EXPECT_EQ(value(report.gpus.at(0), kProcesses), Value{std::int64_t{2}});
  EXPECT_EQ(value(report.gpus.at(0), kProcessPids), Value{std::string("777 4242")});
}

// As newer drivers number them: by functions that the bus does not have.
TEST_F(AmdGpusTest, processes_on_a_part_of_a_divided_gpu_are_those_of_the_gpu) {
  add_compute_node(1, 11743, kLocation);
  add_compute_node(2, 11744, kLocation + 1);
  folder_.write(kKfd + "proc/4200/vram_11744", "4096\n");
  const auto processes = read_kfd_processes(files_);
  ASSERT_TRUE(processes) << processes.error().what;
  EXPECT_THAT(processes->by_gpu,
              testing::ElementsAre(testing::Pair("0000:05:00.0", testing::ElementsAre(4200))));
  EXPECT_THAT(processes->divided, testing::ElementsAre("0000:05:00.0"));
}

// One part of eight, where the others are not for this container.
TEST_F(AmdGpusTest, a_gpu_whose_driver_says_so_is_divided) {
  add_compute_node(1, 11743, kLocation);
  folder_.write(kKfd + "proc/none", "");
  for (const auto& [mode, is_divided] : {std::pair{"SPX", false}, {"CPX", true}}) {
    write("current_compute_partition", std::string(mode) + "\n");
    const auto processes = read_kfd_processes(files_);
    ASSERT_TRUE(processes) << processes.error().what;
    EXPECT_EQ(processes->divided.contains("0000:05:00.0"), is_divided) << mode;
  }
}

TEST_F(AmdGpusTest, who_holds_a_queue_uses_the_gpu_and_of_whom_nothing_is_told_may) {
  add_compute_node(1, 11743, kLocation);
  folder_.write(kKfd + "proc/41/vram_11743", "0\n");
  folder_.write(kKfd + "proc/42/vram_11743", "0\n");
  folder_.write(kKfd + "proc/42/queues/0/gpuid", "11743\n");
  auto processes = read_kfd_processes(files_);
  ASSERT_TRUE(processes) << processes.error().what;
  EXPECT_THAT(processes->by_gpu,
              testing::ElementsAre(testing::Pair("0000:05:00.0", testing::ElementsAre(42))));
  EXPECT_FALSE(processes->some_untold);
  folder_.write(kKfd + "proc/43/pasid", "32770\n");  // of an older driver
  processes = read_kfd_processes(files_);
  EXPECT_TRUE(processes->some_untold);
}

TEST_F(AmdGpusTest, numbers_that_no_chip_has_are_not_believed) {
  write("hwmon/hwmon4/temp2_input", "65535000\n");
  write("hwmon/hwmon4/power1_cap", "0\n");
  write("ras/aca_umc", "ue: 9223372036854775807\nce: 0\nde: 0\n");
  const GpuReport report = read();
  ASSERT_EQ(report.gpus.size(), 1U);
  EXPECT_EQ(why_missing(report.gpus[0], kTemperatureGpu), "unreadable");
  EXPECT_EQ(why_missing(report.gpus[0], kPowerLimit), "unreadable");
  EXPECT_EQ(value(report.gpus[0], kEccVolatileUncorrected), Value{std::int64_t{3}})
      << "those of the other block";
}

TEST_F(AmdGpusTest, a_block_that_is_told_twice_counts_once) {
  write("ras/umc_err_count", "ue: 1\nce: 12\n");
  const GpuReport report = read({GpuGroup::ecc});
  ASSERT_EQ(report.gpus.size(), 1U);
  EXPECT_EQ(value(report.gpus[0], kEccVolatileUncorrected), Value{std::int64_t{4}});
}

TEST_F(AmdGpusTest, beside_an_nvidia_gpu_a_vga_controller_is_the_screen_of_the_processor) {
  add_gpu("0000:0a:00.0", "0x030000");
  EXPECT_EQ(scan_amd_gpus(files_)->size(), 2U);
  folder_.write("/sys/bus/pci/devices/0000:3b:00.0/vendor", "0x10de\n");
  folder_.write("/sys/bus/pci/devices/0000:3b:00.0/device", "0x2330\n");
  folder_.write("/sys/bus/pci/devices/0000:3b:00.0/class", "0x030200\n");
  EXPECT_EQ(scan_amd_gpus(files_)->size(), 1U);
}

TEST_F(AmdGpusTest, names_that_cannot_be_printed_travel_through_the_helper) {
  write("product_name", "AMD \xff\xffInstinct \xc3\xa9\n");
  write("serial_number", std::string(3000, '7') + "\n");
  const HelperGpus gpus(GpuVendor::amd,
                        {.program = paths::fake("fake_helper"),
                         .arguments = {"amdgpu", folder_.path()},
                         .environment = own_environment()},
                        clock_, GpuScan(files_));
  const auto report = gpus.read({GpuGroup::identity}, clock_.now().mono + 20s);
  ASSERT_TRUE(report) << report.error().what;
  EXPECT_EQ(report->state, DriverState::ok) << report->detail;
  ASSERT_EQ(report->gpus.size(), 1U);
  EXPECT_THAT(report->gpus[0].name, testing::StartsWith("AMD ??Instinct"));
}

TEST_F(AmdGpusTest, the_helper_reads_in_a_process_of_its_own) {
  const HelperGpus gpus(GpuVendor::amd,
                        {.program = paths::fake("fake_helper"),
                         .arguments = {"amdgpu", folder_.path()},
                         .environment = own_environment()},
                        clock_, GpuScan(files_));
  const auto report = gpus.read({GpuGroup::temperature}, clock_.now().mono + 20s);
  ASSERT_TRUE(report) << report.error().what;
  EXPECT_EQ(report->state, DriverState::ok);
  ASSERT_EQ(report->gpus.size(), 1U);
  EXPECT_EQ(value(report->gpus[0], kTemperatureGpu), Value{61.0});
  EXPECT_EQ(gpus.take_events(clock_.now().mono + 20s).error().code, Errc::unsupported);
}

TEST(AmdFiles, rows_of_the_driver_are_parsed_and_nothing_else) {
  EXPECT_EQ(parse_ras_counts("ue: 2\nce: 7\n")->corrected, 7);
  EXPECT_EQ(parse_ras_counts("ue: 2\nce: 7\nde: 1\n")->deferred, 1);
  for (const char* text :
       {"", "ue: 2\n", "ue: -1\nce: 0\n", "ue: 2\nce: x\n", "ue 2\nce 0\n", "ue: 1\nce: 1\nxx: 1\n"})
    EXPECT_FALSE(parse_ras_counts(text)) << text;
  EXPECT_EQ(parse_bad_pages("")->retired, 0);
  EXPECT_EQ(parse_bad_pages("0x00000001 : 0x00001000 : F\n")->failed, 1);
  for (const char* text : {"0x1 : 0x1000\n", "0x1 : 0x1000 : X\n", "page : 0x1000 : R\n"})
    EXPECT_FALSE(parse_bad_pages(text)) << text;
  EXPECT_EQ(highest_clock("0: 500Mhz\n1: 2100Mhz *\n2: 800Mhz\n"), 2100);
  EXPECT_EQ(highest_clock("garbage\n1: fast\n"), std::nullopt);
}

}  // namespace
}  // namespace autopilot::host
