// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/sensors/sensors.hpp"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vector>

namespace autopilot::probes::gpu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(CheckIsFree, an_idle_gpu_is_tested) {
  EXPECT_TRUE(check_is_free(std::vector<unsigned>{}, {.power_w = 70, .power_limit_w = 700}));
}

TEST(CheckIsFree, unknown_users_do_not_refuse) {
  EXPECT_TRUE(check_is_free(std::nullopt, {}));
  EXPECT_TRUE(check_is_free(std::nullopt, {.power_w = 700}));
}

TEST(CheckIsFree, its_users_are_named) {
  const Status status = check_is_free(std::vector<unsigned>{4200, 17}, {});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::conflict);
  EXPECT_THAT(status.error().what, HasSubstr("in use by 4200 17; use --beside-others"));
}

TEST(CheckIsFree, a_gpu_without_room_for_power_is_refused) {
  EXPECT_TRUE(check_is_free(std::nullopt, {.power_w = 629, .power_limit_w = 700}));
  const Status status = check_is_free(std::nullopt, {.power_w = 630, .power_limit_w = 700});
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().what, HasSubstr("draws 630 of its 700 W"));
}

TEST(CheckIsIdle, a_whole_gpu_whose_processes_are_known_is_tested) {
  EXPECT_TRUE(check_is_idle(std::vector<unsigned>{}, {}, false));
  EXPECT_TRUE(check_is_idle(std::vector<unsigned>{}, {}, std::nullopt)) << "it cannot be divided";
  EXPECT_THAT(check_is_idle(std::vector<unsigned>{17}, {}, false).error().what, HasSubstr("in use by 17"));
}

TEST(CheckIsIdle, unknown_users_refuse_and_name_the_remedy) {
  const Status status = check_is_idle(std::nullopt, {}, false);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::conflict);
  EXPECT_THAT(status.error().what, HasSubstr("by an unknown process"));
  EXPECT_THAT(status.error().what, HasSubstr("driver capability `utility`"));
}

TEST(CheckIsIdle, a_part_of_a_gpu_may_be_in_use) {
  const Status status = check_is_idle(std::vector<unsigned>{}, {}, true);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::conflict);
  EXPECT_THAT(status.error().what, HasSubstr("divided (MIG)"));
}

TEST(ThrottleWords, every_bit_is_named) {
  EXPECT_THAT(throttle_words(0), ElementsAre());
  EXPECT_THAT(throttle_words(0x44), ElementsAre("sw_power_cap", "hw_thermal"));
  EXPECT_THAT(throttle_words(0x8000000000000001), ElementsAre("gpu_idle", "0x8000000000000000"));
}

TEST(FindMpsServer, it_is_found_by_its_name) {
  const std::string proc = testing::TempDir() + "autopilot-mps-test";
  for (const auto& [process, name] : {std::pair(17, "python3\n"), std::pair(4200, "nvidia-cuda-mps\n")}) {
    const std::string folder = proc + "/" + std::to_string(process);
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/comm") << name;
  }
  EXPECT_EQ(find_mps_server(std::vector<unsigned>{5, 17, 4200}, proc), 4200U);
  EXPECT_EQ(find_mps_server(std::vector<unsigned>{5, 17}, proc), std::nullopt);
  std::filesystem::remove_all(proc);
  EXPECT_EQ(find_mps_server(std::vector<unsigned>{4200}, proc), std::nullopt);
}

constexpr const char* kGpu = "0000:05:00.0";

Result<host::KfdProcesses> seen(std::vector<std::int64_t> pids) {
  host::KfdProcesses processes;
  processes.by_gpu[kGpu] = std::move(pids);
  return processes;
}

void expect_refused(const Status& status, const std::string& why) {
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::conflict);
  EXPECT_THAT(status.error().what, HasSubstr(why));
}

TEST(AmdUse, an_idle_gpu_is_free) {
  EXPECT_TRUE(check_amd_use(seen({}), kGpu, false));
  EXPECT_TRUE(check_amd_use(seen({}), kGpu, true));
}

TEST(AmdUse, its_users_are_named) {
  for (const bool must_be_idle : {false, true})
    expect_refused(check_amd_use(seen({41, 4242}), kGpu, must_be_idle), "is in use by 41 4242");
}

TEST(AmdUse, unknown_users_refuse_only_if_it_must_be_idle) {
  const Result<host::KfdProcesses> nobody = fail(Errc::not_found, "/sys/class/kfd: not there");
  EXPECT_TRUE(check_amd_use(nobody, kGpu, false));
  expect_refused(check_amd_use(nobody, kGpu, true), "by an unknown process: /sys/class/kfd: not there");
  EXPECT_TRUE(check_amd_use(seen({}), "0000:99:00.0", false));
  expect_refused(check_amd_use(seen({}), "0000:99:00.0", true), "(KFD) does not list it");
}

TEST(AmdUse, a_process_with_unknown_gpus_can_use_it) {
  auto some = seen({});
  some->some_untold = true;
  EXPECT_TRUE(check_amd_use(some, kGpu, false));
  expect_refused(check_amd_use(some, kGpu, true), "does not list the GPUs of a process");
  some->by_gpu[kGpu] = {41};
  expect_refused(check_amd_use(some, kGpu, true), "is in use by 41");
}

TEST(AmdUse, a_divided_gpu_is_not_idle) {
  auto divided = seen({});
  divided->divided.insert(kGpu);
  EXPECT_TRUE(check_amd_use(divided, kGpu, false));
  expect_refused(check_amd_use(divided, kGpu, true), "is divided (compute partitions)");
}

}  // namespace

}  // namespace autopilot::probes::gpu
