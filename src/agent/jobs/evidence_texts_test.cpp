// SPDX-License-Identifier: Apache-2.0
#include "agent/jobs/evidence_texts.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::agent::evidence_texts_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST(EvidenceTexts, of_a_long_kernel_log_the_newest_lines_are_kept) {
  host::KernelRecords log;
  for (std::size_t i = 0; i < kMostKernelLines + 10; ++i)
    log.records.push_back({.sequence = i,
                           .time = {WallTime(1767225600s), {}},
                           .priority = 4,
                           .text = "line " + std::to_string(i) + "\nforged"});
  const std::string text = kernel_log_text(log);
  EXPECT_EQ(std::ranges::count(text, '\n'), static_cast<std::ptrdiff_t>(kMostKernelLines));
  EXPECT_THAT(text.substr(0, text.find('\n')), HasSubstr("<4> line 10"));
  EXPECT_EQ(kernel_log_text({}), "");
}

}  // namespace
}  // namespace autopilot::agent::evidence_texts_test
