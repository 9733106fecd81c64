// SPDX-License-Identifier: Apache-2.0
#include "cli/output/job_tables.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <string>

#include "core/parse.hpp"

namespace autopilot::cli {
namespace {

jobs::JobFinding slow_gpu() {
  jobs::JobFinding finding;
  finding.job = "ml/llama";
  finding.effect = jobs::Effect::slow;
  finding.severity = jobs::Severity::page;
  finding.culprit = {jobs::EntityKind::gpu, "gpu-001", 3, ""};
  finding.probability = 0.974;
  finding.summary = "the SM clock is 1324 MHz";
  finding.decision.because = "Swapping costs 0.3 h.";
  return finding;
}

const WallTime kNow{std::chrono::seconds{1767225610}};

TEST(JobTables, a_finding_shows_culprit_probability_and_decision) {
  EXPECT_EQ(render_job_finding(slow_gpu(), kNow, {}),
            "2026-01-01T00:00:10Z  page      slow        ml/llama\n"
            "    GPU 3 of gpu-001 (0.97): the SM clock is 1324 MHz\n"
            "    Swapping costs 0.3 h.\n");
}

TEST(JobTables, a_resolved_finding_needs_no_decision) {
  auto finding = slow_gpu();
  finding.resolved = kNow;
  EXPECT_EQ(render_job_finding(finding, kNow, {}),
            "2026-01-01T00:00:10Z  resolved  slow        ml/llama\n"
            "    GPU 3 of gpu-001 (0.97): the SM clock is 1324 MHz\n");
}

TEST(JobTables, names_from_a_file_cannot_control_the_terminal) {
  auto finding = slow_gpu();
  finding.job = "ml/\x1b[2Jllama";
  finding.summary = std::string(300, 'a') + "\x1b]0;x";
  const std::string text = render_job_finding(finding, kNow, {});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  for (const auto line : split(text, '\n'))
    EXPECT_LE(line.size(), 80U);
}

TEST(JobTables, a_job_without_progress_shows_dashes) {
  jobs::JobState job;
  job.job = "ml/llama";
  EXPECT_NE(render_jobs({job}, {}).find("unknown  0      0      -     -          -"), std::string::npos);
  EXPECT_EQ(render_jobs({}, {}), "");
}

}  // namespace
}  // namespace autopilot::cli
