// SPDX-License-Identifier: Apache-2.0
#include "agent/jobs/evidence_texts.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::agent::evidence_texts_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(EvidenceTexts, a_window_is_a_line_for_each_part_that_was_measured) {
  jobs::WindowRecord window{.time = WallTime(1767225600s), .length = 10s, .node = "n0"};
  window.gpus = {0, 1};
  window.processes = {{"ml/a", 3}};
  window.nics = {"mlx5_0"};
  window.columns = {{jobs::Metric::gpu_power_w, {700, jobs::kMissing}},
                    {jobs::Metric::gpu_util, {1, jobs::kMissing}},
                    {jobs::Metric::process_stopped, {1}},
                    {jobs::Metric::host_cpu, {0.25F}}};
  const std::string text = window_text(window);
  EXPECT_THAT(text, HasSubstr("node n0, 10 s until 2026-01-01T00:00:00"));
  EXPECT_THAT(text, HasSubstr("GPU 0: power_w 700, util 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("GPU 1")));
  EXPECT_THAT(text, HasSubstr("rank 3 of ml/a: stopped 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("mlx5_0")));
  EXPECT_THAT(text, HasSubstr("host: cpu 0.25\n"));
}

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
