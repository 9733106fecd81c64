// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/sensors/amd_use.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::probes::gpu {
namespace {

using testing::HasSubstr;

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

TEST(AmdUse, a_gpu_that_nobody_uses_is_free) {
  EXPECT_TRUE(check_amd_use(seen({}), kGpu, false));
  EXPECT_TRUE(check_amd_use(seen({}), kGpu, true));
}

TEST(AmdUse, who_uses_it_is_named) {
  for (const bool must_be_idle : {false, true})
    expect_refused(check_amd_use(seen({41, 4242}), kGpu, must_be_idle), "is in use by 41 4242");
}

TEST(AmdUse, what_nobody_tells_refuses_only_where_it_must_be_known) {
  const Result<host::KfdProcesses> nobody = fail(Errc::not_found, "/sys/class/kfd: not there");
  EXPECT_TRUE(check_amd_use(nobody, kGpu, false));
  expect_refused(check_amd_use(nobody, kGpu, true), "by an unknown process: /sys/class/kfd: not there");
  EXPECT_TRUE(check_amd_use(seen({}), "0000:99:00.0", false));
  expect_refused(check_amd_use(seen({}), "0000:99:00.0", true), "(KFD) does not list it");
}

TEST(AmdUse, a_process_of_which_nothing_is_told_may_use_it) {
  auto some = seen({});
  some->some_untold = true;
  EXPECT_TRUE(check_amd_use(some, kGpu, false));
  expect_refused(check_amd_use(some, kGpu, true), "does not list the GPUs of a process");
  some->by_gpu[kGpu] = {41};
  expect_refused(check_amd_use(some, kGpu, true), "is in use by 41");
}

TEST(AmdUse, a_divided_gpu_is_none_that_is_known_to_be_idle) {
  auto divided = seen({});
  divided->divided.insert(kGpu);
  EXPECT_TRUE(check_amd_use(divided, kGpu, false));
  expect_refused(check_amd_use(divided, kGpu, true), "is divided (compute partitions)");
}

}  // namespace
}  // namespace autopilot::probes::gpu
