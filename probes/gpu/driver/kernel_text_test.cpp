// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/driver/kernel_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/parse.hpp"

namespace autopilot::probes::gpu {
namespace {

using testing::HasSubstr;

TEST(KernelText, a_gpu_takes_the_highest_level_that_it_knows) {
  EXPECT_EQ(kernel_text_for(70)->level, "sm_70");
  EXPECT_EQ(kernel_text_for(75)->level, "sm_70");
  EXPECT_EQ(kernel_text_for(80)->level, "sm_80");
  EXPECT_EQ(kernel_text_for(89)->level, "sm_80");
  EXPECT_EQ(kernel_text_for(90)->level, "sm_90");
  EXPECT_EQ(kernel_text_for(120)->level, "sm_90");
}

TEST(KernelText, an_older_gpu_is_unsupported) {
  const auto text = kernel_text_for(61);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, Errc::unsupported);
  EXPECT_THAT(text.error().what, HasSubstr("6.1"));
}

// Drivers from 525 on take version 8.0 and nothing newer.
TEST(KernelText, drivers_of_2022_take_every_level) {
  for (const int capability : {70, 80, 90}) {
    const std::string& text = *kernel_text_for(capability)->text;
    const auto at = text.find(".version ");
    ASSERT_NE(at, std::string::npos);
    const auto version = parse_number<double>(std::string_view(text).substr(at + 9, 3));
    ASSERT_TRUE(version);
    EXPECT_LE(*version, 8.0);
    EXPECT_THAT(text, HasSubstr(".target sm_" + std::to_string(capability)));
  }
}

}  // namespace
}  // namespace autopilot::probes::gpu
