// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/driver/session.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/parse.hpp"

namespace autopilot::probes::gpu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> levels_of(int capability, std::string_view highest = {}) {
  std::vector<std::string> levels;
  const auto texts = kernel_texts_for(capability, highest);
  for (const KernelText& one : texts.value())
    levels.push_back(one.level);
  return levels;
}

TEST(KernelText, a_gpu_has_the_levels_that_it_supports_the_highest_first) {
  EXPECT_THAT(levels_of(70), ElementsAre("sm_70"));
  EXPECT_THAT(levels_of(75), ElementsAre("sm_70"));
  EXPECT_THAT(levels_of(80), ElementsAre("sm_80", "sm_70"));
  EXPECT_THAT(levels_of(89), ElementsAre("sm_80", "sm_70"));
  EXPECT_THAT(levels_of(90), ElementsAre("sm_90a", "sm_90", "sm_80", "sm_70"));
}

TEST(KernelText, a_level_of_one_capability_is_not_used_on_newer_ones) {
  EXPECT_THAT(levels_of(100), ElementsAre("sm_90", "sm_80", "sm_70"));
  EXPECT_THAT(levels_of(120).front(), "sm_90");
}

TEST(KernelText, a_lower_level_can_be_requested) {
  EXPECT_THAT(levels_of(90, "sm_90a").front(), "sm_90a");
  EXPECT_THAT(levels_of(90, "sm_90"), ElementsAre("sm_90", "sm_80", "sm_70"));
  EXPECT_THAT(levels_of(75, "sm_80"), ElementsAre("sm_70"));
  EXPECT_THAT(kernel_levels(), ElementsAre("sm_70", "sm_80", "sm_90", "sm_90a"));
}

TEST(KernelText, an_older_gpu_is_unsupported) {
  const auto texts = kernel_texts_for(61);
  ASSERT_FALSE(texts);
  EXPECT_EQ(texts.error().code, Errc::unsupported);
  EXPECT_THAT(texts.error().what, HasSubstr("6.1"));
}

TEST(KernelText, levels_have_what_their_gpus_can_do) {
  const auto has = [](int capability, std::string_view kernel) {
    return kernel_texts_for(capability)->front().has(kernel);
  };
  EXPECT_TRUE(has(70, "gemm_f64_fused"));
  EXPECT_FALSE(has(70, "gemm_bf16"));
  EXPECT_TRUE(has(80, "gemm_f64_tensor"));
  EXPECT_TRUE(has(80, "gemm_bf16"));
  EXPECT_FALSE(has(100, "gemm_bf16_wgmma"));
  EXPECT_TRUE(has(90, "gemm_bf16_wgmma"));
  EXPECT_TRUE(has(90, "gemm_bf16"));
}

// Drivers from 525 on take version 8.0 and nothing newer.
TEST(KernelText, drivers_of_2022_take_every_level) {
  const auto texts = kernel_texts_for(90);
  for (const KernelText& one : texts.value()) {
    const std::string& text = *one.text;
    const auto at = text.find(".version ");
    ASSERT_NE(at, std::string::npos);
    const auto version = parse_number<double>(std::string_view(text).substr(at + 9, 3));
    EXPECT_LE(version.value_or(99), 8.0);
    EXPECT_THAT(text, HasSubstr(".target " + one.level + "\n"));
  }
}

}  // namespace

}  // namespace autopilot::probes::gpu
