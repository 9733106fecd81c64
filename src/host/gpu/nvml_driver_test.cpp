// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/nvml_driver.hpp"

#include <cstdlib>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/gpu/readings.hpp"
#include "tests/paths/paths.hpp"

namespace autopilot::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string fake(const std::string& name) {
  return paths::fake(name + ".so");
}

class TestClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return {WallTime{}, MonoTime{} + elapsed}; }
  Duration elapsed = std::chrono::hours{1};
};

// Three GPUs at 1b, 1c and 1d; FAKE_NVML says how the library misbehaves.
class NvmlDriverTest : public testing::Test {
 protected:
  void SetUp() override { conduct(""); }
  void TearDown() override { unsetenv("FAKE_NVML"); }
  static void conduct(const char* words) { setenv("FAKE_NVML", words, 1); }

  TestClock clock_;
  CallWatch watch_;
  NvmlDriver driver_{fake("fake_nvml"), clock_, watch_};
};

TEST(NvmlLibrary, a_path_without_a_file_is_a_missing_library) {
  CallWatch watch;
  const auto library = NvmlLibrary::open("/nonexistent/libnvidia-ml.so.1", watch);
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().state, DriverState::library_missing);
  EXPECT_THAT(library.error().detail, HasSubstr("/nonexistent/libnvidia-ml.so.1"));
}

TEST(NvmlLibrary, a_file_that_is_no_library_is_broken) {
  const std::string path = testing::TempDir() + "/not_a_library.so";
  std::ofstream(path) << "hello";
  CallWatch watch;
  const auto library = NvmlLibrary::open(path, watch);
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().state, DriverState::library_broken);
}

TEST(NvmlLibrary, a_library_without_a_required_function_is_broken_and_names_it) {
  CallWatch watch;
  const auto library = NvmlLibrary::open(fake("fake_nvml_lacks_required"), watch);
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().state, DriverState::library_broken);
  EXPECT_THAT(library.error().detail, HasSubstr("nvmlDeviceGetName"));
}

TEST(NvmlLibrary, texts_of_the_driver_become_printable) {
  const char raw[8] = {'a', '\x01', '\xff', 'b', '\0', 'x', 'y', 'z'};
  EXPECT_EQ(driver_text(raw, sizeof(raw)), "a??b");
  const char endless[3] = {'a', 'b', 'c'};
  EXPECT_EQ(driver_text(endless, sizeof(endless)), "abc");
}

TEST_F(NvmlDriverTest, reads_identity_versions_and_values) {
  const GpuReport report = driver_.read({GpuGroup::identity, GpuGroup::temperature}, {});
  EXPECT_EQ(report.state, DriverState::ok);
  EXPECT_EQ(report.driver_version, "535.0?");
  EXPECT_EQ(report.cuda_version, "12.4");
  EXPECT_THAT(report.library_path, HasSubstr("fake_nvml.so"));
  ASSERT_EQ(report.gpus.size(), 3U);
  const GpuDevice& gpu = report.gpus[1];
  EXPECT_EQ(gpu.subject.key, "0000:1c:00.0");
  EXPECT_EQ(gpu.subject.index, 1);
  EXPECT_EQ(gpu.subject.uuid, "GPU-00000001");
  EXPECT_EQ(gpu.name, "Fake H100");
  ASSERT_NE(gpu.find(reading::kTemperatureGpu), nullptr);
  EXPECT_EQ(gpu.find(reading::kTemperatureGpu)->value, Value{std::int64_t{41}});
  EXPECT_EQ(gpu.find(reading::kRecoveryAction)->value, Value{std::int64_t{2}});
}

TEST_F(NvmlDriverTest, keeps_not_supported_and_function_absent_apart) {
  conduct("temperature=3");
  const GpuReport report = driver_.read({GpuGroup::temperature}, {});
  const GpuDevice& gpu = report.gpus.at(0);
  EXPECT_EQ(gpu.find(reading::kTemperatureGpu)->code, nvml::kNotSupported);
  EXPECT_EQ(gpu.find(reading::kTemperatureGpu)->value, std::nullopt);
  EXPECT_EQ(gpu.find(reading::kTemperatureMargin)->code, nvml::kSymbolAbsent);
  EXPECT_EQ(gpu.state, GpuState::ok);
}

TEST_F(NvmlDriverTest, a_library_with_only_the_required_functions_answers_absent_for_all_else) {
  NvmlDriver driver(fake("fake_nvml_only_required"), clock_, watch_);
  const GpuReport report =
      driver.read({GpuGroup::identity, GpuGroup::row_remap, GpuGroup::ecc, GpuGroup::clocks,
                   GpuGroup::temperature, GpuGroup::pcie, GpuGroup::nvlink, GpuGroup::power,
                   GpuGroup::processes, GpuGroup::fabric, GpuGroup::inforom},
                  {});
  ASSERT_EQ(report.state, DriverState::ok);
  ASSERT_EQ(report.gpus.size(), 3U);
  for (const GpuReading& reading : report.gpus[0].readings) {
    EXPECT_EQ(reading.code, nvml::kSymbolAbsent) << reading.name;
    EXPECT_EQ(reading.value, std::nullopt) << reading.name;
  }
  EXPECT_GT(report.gpus[0].readings.size(), 40U);
}

TEST_F(NvmlDriverTest, codes_of_init_are_different_states) {
  for (const auto& [word, state] :
       std::vector<std::pair<const char*, DriverState>>{{"init=9", DriverState::driver_not_loaded},
                                                        {"init=18", DriverState::version_mismatch},
                                                        {"init=4", DriverState::no_permission},
                                                        {"init=999", DriverState::init_failed}}) {
    conduct(word);
    const GpuReport report = driver_.read({GpuGroup::identity}, {});
    EXPECT_EQ(report.state, state) << word;
    EXPECT_THAT(report.detail, HasSubstr("the fake says no")) << word;
    EXPECT_THAT(report.gpus, IsEmpty());
  }
  conduct("");
  EXPECT_EQ(driver_.read({GpuGroup::identity}, {}).state, DriverState::ok) << "recovers by itself";
}

TEST_F(NvmlDriverTest, a_driver_that_cannot_count_its_gpus_is_no_driver) {
  conduct("count=999");
  const GpuReport report = driver_.read({GpuGroup::identity}, {});
  EXPECT_EQ(report.state, DriverState::init_failed);
  EXPECT_THAT(report.detail, HasSubstr("nvmlDeviceGetCount_v2"));
}

TEST_F(NvmlDriverTest, a_lost_gpu_is_listed_by_the_address_that_the_pci_tree_knows) {
  conduct("handle1=15");
  const GpuReport report =
      driver_.read({GpuGroup::temperature}, {"0000:1b:00.0", "0000:1c:00.0", "0000:1d:00.0"});
  ASSERT_EQ(report.gpus.size(), 3U);
  const GpuDevice& lost = report.gpus[2];
  EXPECT_EQ(lost.subject.key, "0000:1c:00.0");
  EXPECT_EQ(lost.subject.index, 1);
  EXPECT_EQ(lost.state, GpuState::lost);
  EXPECT_THAT(lost.readings, IsEmpty());
}

TEST_F(NvmlDriverTest, a_gpu_that_is_lost_later_keeps_its_identity) {
  ASSERT_EQ(driver_.read({GpuGroup::identity}, {}).gpus.size(), 3U);
  conduct("handle1=16");
  const GpuReport report = driver_.read({GpuGroup::identity}, {});
  ASSERT_EQ(report.gpus.size(), 3U);
  EXPECT_EQ(report.gpus[2].subject.key, "0000:1c:00.0");
  EXPECT_EQ(report.gpus[2].subject.uuid, "GPU-00000001");
  EXPECT_EQ(report.gpus[2].state, GpuState::reset_required);
}

TEST_F(NvmlDriverTest, a_lost_gpu_of_which_nothing_is_known_is_listed_by_its_index) {
  conduct("handle1=15");
  const GpuReport report = driver_.read({GpuGroup::identity}, {});
  ASSERT_EQ(report.gpus.size(), 3U);
  EXPECT_EQ(report.gpus[2].subject.key, "index-1");
  EXPECT_EQ(report.gpus[2].state, GpuState::lost);
}

TEST_F(NvmlDriverTest, an_address_that_the_driver_does_not_know_is_not_made_up) {
  EXPECT_EQ(driver_.read({GpuGroup::identity}, {"0000:ff:00.0"}).gpus.size(), 3U);
}

TEST_F(NvmlDriverTest, looks_again_after_a_while_for_a_gpu_that_was_well_and_is_not_listed_any_more) {
  const std::vector<std::string> addresses{"0000:1b:00.0", "0000:1c:00.0", "0000:1d:00.0", "0000:1e:00.0"};
  ASSERT_EQ(driver_.read({GpuGroup::identity}, addresses).gpus.size(), 3U);
  conduct("init=9");
  clock_.elapsed += NvmlDriver::kReinitInterval;
  ASSERT_EQ(driver_.read({GpuGroup::identity}, addresses).state, DriverState::ok)
      << "one that was never listed, as of a virtual machine, is not missed";
  conduct("hidden=1");
  ASSERT_EQ(driver_.read({GpuGroup::identity}, addresses).gpus.size(), 2U);
  conduct("init=9");
  clock_.elapsed += NvmlDriver::kReinitInterval;
  EXPECT_EQ(driver_.read({GpuGroup::identity}, addresses).state, DriverState::driver_not_loaded);
}

TEST_F(NvmlDriverTest, looks_again_after_a_while_when_a_gpu_was_in_trouble) {
  conduct("handle1=15");
  ASSERT_EQ(driver_.read({GpuGroup::identity}, {}).state, DriverState::ok);
  conduct("handle1=15,init=9");
  EXPECT_EQ(driver_.read({GpuGroup::identity}, {}).state, DriverState::ok) << "not at once";
  clock_.elapsed += NvmlDriver::kReinitInterval;
  EXPECT_EQ(driver_.read({GpuGroup::identity}, {}).state, DriverState::driver_not_loaded);
}

TEST_F(NvmlDriverTest, facts_are_asked_once) {
  const std::uint64_t first = driver_.read({GpuGroup::temperature}, {}).calls;
  const std::uint64_t second = driver_.read({GpuGroup::temperature}, {}).calls;
  // Count, and per GPU: handle, PCI address, temperature, fields; and whether there is an event.
  EXPECT_EQ(second, 1U + 3U * 4U + 1U);
  EXPECT_GT(first, second);
}

TEST_F(NvmlDriverTest, a_counter_beyond_the_range_of_ours_saturates) {
  const GpuReport report = driver_.read({GpuGroup::clocks}, {});
  EXPECT_EQ(report.gpus.at(0).find(reading::kThrottlePowerCap)->value,
            Value{std::numeric_limits<std::int64_t>::max()});
}

TEST_F(NvmlDriverTest, an_older_driver_tells_the_fabric_without_its_health) {
  const GpuReport report = driver_.read({GpuGroup::fabric}, {});
  const GpuDevice& waits = report.gpus.at(0);
  EXPECT_EQ(waits.find(reading::kFabricState)->value, Value{std::int64_t{2}});
  EXPECT_EQ(waits.find(reading::kFabricStatus)->value, std::nullopt) << "says nothing before it is completed";
  const GpuDevice& registered = report.gpus.at(1);
  EXPECT_EQ(registered.find(reading::kFabricState)->value, Value{std::int64_t{3}});
  EXPECT_EQ(registered.find(reading::kFabricStatus)->value, Value{std::int64_t{nvml::kUnknown}});
  EXPECT_EQ(registered.find(reading::kFabricClique)->value, Value{std::int64_t{7}});
  EXPECT_EQ(registered.find(reading::kFabricCluster)->value,
            Value{std::string("ab000000-0000-0000-0000-000000000000")});
  EXPECT_EQ(registered.find(reading::kFabricHealthMask)->code, nvml::kSymbolAbsent);
}

TEST_F(NvmlDriverTest, a_damaged_inforom_is_an_answer) {
  EXPECT_EQ(driver_.read({GpuGroup::inforom}, {}).gpus.at(0).find(reading::kInforomValid)->value,
            Value{true});
  conduct("inforom=14");
  EXPECT_EQ(driver_.read({GpuGroup::inforom}, {}).gpus.at(0).find(reading::kInforomValid)->value,
            Value{false});
  conduct("inforom=3");
  EXPECT_EQ(driver_.read({GpuGroup::inforom}, {}).gpus.at(0).find(reading::kInforomValid)->code,
            nvml::kNotSupported);
}

TEST_F(NvmlDriverTest, a_flag_that_is_neither_0_nor_1_stays_a_number) {
  const auto flag = [this](const char* words) {
    conduct(words);
    return driver_.read({GpuGroup::identity}, {}).gpus.at(0).find(reading::kMig)->value;
  };
  EXPECT_EQ(flag("mig=0"), Value{false});
  EXPECT_EQ(flag("mig=1"), Value{true});
  EXPECT_EQ(flag("mig=-1"), Value{std::int64_t{4294967295}});
}

TEST_F(NvmlDriverTest, the_parts_of_a_divided_gpu_are_told_with_its_processes) {
  const std::vector<GpuGroup> groups{GpuGroup::identity, GpuGroup::processes};
  conduct("mig=1");
  const GpuReport report = driver_.read(groups, {});
  const GpuInstance first{.gpu_instance = 5, .compute_instance = 0, .uuid = "MIG-0"};
  const GpuInstance second{.gpu_instance = 6, .compute_instance = 0, .uuid = "MIG-1"};
  EXPECT_THAT(report.gpus.at(0).instances, ElementsAre(first, second));
  EXPECT_THAT(report.gpus.at(1).instances, IsEmpty());
  EXPECT_THAT(driver_.read({GpuGroup::identity}, {}).gpus.at(0).instances, IsEmpty()) << "nobody asked";
  conduct("mig=1,compute_instance=6");
  EXPECT_THAT(driver_.read(groups, {}).gpus.at(0).instances, ElementsAre(first))
      << "the other one has just gone";
  conduct("");
  EXPECT_THAT(driver_.read(groups, {}).gpus.at(0).instances, IsEmpty());
}

TEST_F(NvmlDriverTest, a_bit_error_rate_is_decoded) {
  conduct("link=7,ber=1000");
  const GpuReport report = driver_.read({GpuGroup::nvlink}, {});
  const auto rate = report.gpus.at(0).find(reading::kNvLinkSymbolBer, 0)->value;
  EXPECT_DOUBLE_EQ(as_number(*rate).value_or(0), 3e-232);
  conduct("link=7,ber=4095");
  const GpuReport clean = driver_.read({GpuGroup::nvlink}, {});
  EXPECT_LT(as_number(*clean.gpus.at(0).find(reading::kNvLinkSymbolBer, 0)->value).value_or(1), 1e-250);
}

TEST_F(NvmlDriverTest, links_before_the_fourth_generation_have_a_field_for_each_counter) {
  conduct("link=5");
  const GpuReport report = driver_.read({GpuGroup::nvlink}, {});
  const GpuDevice& gpu = report.gpus.at(0);
  EXPECT_EQ(gpu.find(reading::kNvLinkCrcErrors, 0)->value, Value{std::int64_t{32}});
  EXPECT_EQ(gpu.find(reading::kNvLinkCrcDataErrors, 0)->value, Value{std::int64_t{39}});
  EXPECT_EQ(gpu.find(reading::kNvLinkReplays, 0)->value, Value{std::int64_t{46}});
  EXPECT_EQ(gpu.find(reading::kNvLinkRecoveries, 0)->value, Value{std::int64_t{53}});
}

TEST_F(NvmlDriverTest, processes_are_counted_once_and_the_first_are_named) {
  const GpuReport report = driver_.read({GpuGroup::processes}, {});
  const GpuDevice& gpu = report.gpus.at(0);
  EXPECT_EQ(gpu.find(reading::kProcesses)->value, Value{std::int64_t{80}});
  const std::string pids = autopilot::to_string(*gpu.find(reading::kProcessPids)->value);
  EXPECT_THAT(pids, ::testing::StartsWith("4921 4922 4923 "));
  EXPECT_THAT(pids, ::testing::EndsWith(" 4952")) << "32 of them";
  EXPECT_EQ(gpu.find(reading::kMemoryUsed)->value, Value{std::int64_t{40}}) << "by the older call";
}

TEST_F(NvmlDriverTest, xid_events_come_once_and_name_the_gpu) {
  const auto events = driver_.take_events();
  ASSERT_TRUE(events) << events.error().what;
  ASSERT_EQ(events->size(), 1U);
  EXPECT_EQ(events->front().subject.key, "0000:1d:00.0");
  EXPECT_EQ(events->front().code, 79);
  EXPECT_THAT(driver_.take_events().value(), IsEmpty());
}

TEST_F(NvmlDriverTest, an_xid_is_heard_with_whatever_question_is_asked_and_kept_until_somebody_wants_it) {
  (void)driver_.read({GpuGroup::temperature}, {});
  conduct("nvmlEventSetWait_v2=3");  // from now on nothing more is heard
  const auto events = driver_.take_events();
  ASSERT_TRUE(events) << events.error().what;
  ASSERT_EQ(events->size(), 1U);
  EXPECT_EQ(events->front().code, 79);
  EXPECT_FALSE(driver_.take_events());
}

TEST_F(NvmlDriverTest, who_cannot_listen_says_so_and_tries_again) {
  for (const char* call : {"nvmlEventSetCreate", "nvmlDeviceRegisterEvents", "nvmlEventSetWait_v2"}) {
    conduct((std::string(call) + "=3").c_str());
    const auto refused = driver_.take_events();
    ASSERT_FALSE(refused) << call;
    EXPECT_THAT(refused.error().what, HasSubstr(call));
    EXPECT_THAT(refused.error().what, HasSubstr("(3)"));
  }
  conduct("");
  EXPECT_TRUE(driver_.take_events());
}

}  // namespace
}  // namespace autopilot::host
