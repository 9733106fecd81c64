// SPDX-License-Identifier: Apache-2.0

#include "diagnostics/child/nccl_helper.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/observation.hpp"

namespace autopilot::diagnostics {

namespace {

using ::testing::ElementsAre;

std::vector<host::GpuDevice> two_gpus() {
  std::vector<host::GpuDevice> gpus(2);
  for (int i = 0; i < 2; ++i) {
    auto& gpu = gpus[static_cast<std::size_t>(i)];
    gpu.subject = {SubjectKind::gpu, "0000:0" + std::to_string(i) + ":00.0", i, "GPU-" + std::to_string(i),
                   ""};
    gpu.name = "NVIDIA H200";
  }
  return gpus;
}

std::vector<std::string> nccl_lines(const Observations& all) {
  std::vector<std::string> lines;
  for (const Observation& one : all)
    lines.push_back(autopilot::to_string(one.subject) + " " + one.name + " " +
                    autopilot::to_string(*one.value));
  return lines;
}

TEST(NcclWords, are_of_the_largest_size_and_of_all_that_was_wrong) {
  const host::NcclReport report{{{1 << 20, 100, 175, 2}, {1 << 30, 270, 472, 1}, {1 << 25, 200, 350, 0}}};
  const auto all = nccl_observations(report, two_gpus());
  ASSERT_TRUE(all);
  EXPECT_THAT(nccl_lines(*all),
              ElementsAre("host nccl_allreduce.outcome measured", "host nccl_allreduce.busbw 472",
                          "host nccl_allreduce.algbw 270", "host nccl_allreduce.bytes 1073741824",
                          "host nccl_allreduce.wrong 3", "gpu/0000:00:00.0 nccl_allreduce.rank 0",
                          "gpu/0000:00:00.0 gpu.model NVIDIA H200", "gpu/0000:01:00.0 nccl_allreduce.rank 1",
                          "gpu/0000:01:00.0 gpu.model NVIDIA H200"));
}

TEST(NcclWords, sums_that_nobody_checked_are_not_known_to_be_right) {
  const auto all = nccl_observations({{{1 << 30, 270, 472, std::nullopt}, {8, 1, 2, 0}}}, two_gpus());
  ASSERT_TRUE(all);
  const auto wrong = std::ranges::find(*all, Interned("nccl_allreduce.wrong"), &Observation::name);
  ASSERT_NE(wrong, all->end());
  EXPECT_FALSE(wrong->value);
  EXPECT_EQ(wrong->missing.text(), "unavailable");
}

TEST(NcclWords, wrong_sums_are_told_without_a_bandwidth) {
  const auto all = nccl_observations({{{8, 0, 0, 4}}}, two_gpus());
  ASSERT_TRUE(all);
  EXPECT_EQ(nccl_lines(*all)[1], "host nccl_allreduce.wrong 4");
}

TEST(NcclWords, where_nothing_was_measured_nothing_is_said) {
  EXPECT_EQ(nccl_observations({}, two_gpus()).error().code, Errc::unavailable);
  EXPECT_FALSE(nccl_observations({{{8, 0, 0, 0}}}, two_gpus()));
}

TEST(NcclWords, who_keeps_the_test_from_being_made_is_named) {
  EXPECT_THAT(nccl_lines(nccl_in_use("process 4242")), ElementsAre("host nccl_allreduce.outcome in_use"));
  EXPECT_EQ(attribute_text(nccl_in_use("process 4242").front(), "by"), "process 4242");
  EXPECT_THAT(nccl_lines(nccl_of_one_gpu()), ElementsAre("host nccl_allreduce.outcome one_gpu"));
}

}  // namespace

}  // namespace autopilot::diagnostics
