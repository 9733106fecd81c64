// SPDX-License-Identifier: Apache-2.0
#include "cli/output/job_pages.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "tests/support/api/job_samples.hpp"

namespace autopilot::cli::job_pages_test {
namespace {

using api::testing::kJobTime;
using api::testing::sample_job;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr WallTime kNow = kJobTime + std::chrono::minutes(12);

JobPageContext context() {
  return {.now = kNow,
          .sources = {"processes", "telemetry", "logs"},
          .not_seen = {"logs of rank 0: a pipe cannot be read; let the job write its log into a file",
                       "pods: no API server"}};
}

jobs::JobReport hung_job() {
  jobs::JobReport report = sample_job();
  report.ended.reset();
  report.outcome.reset();
  report.failure.reset();
  return report;
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

TEST(JobPages, why_of_a_hang_states_since_when_because_of_what_and_what_to_do) {
  const std::string page = render_job_why(hung_job(), context(), {});
  EXPECT_THAT(page, HasSubstr("ml/llama-7f3a hangs because of GPU 3 of gpu-001"));
  EXPECT_THAT(page, HasSubstr("2026-01-01T00:00:00Z (12 min ago), detected after 2 min"));
  EXPECT_THAT(page, HasSubstr("GPU 3 of gpu-001, ranks 3, 11, probability 0.85"));
  EXPECT_THAT(page, HasSubstr("1,200 MHz"));
  EXPECT_THAT(page, HasSubstr("autopilot test gpu.compute"));
  EXPECT_THAT(page, HasSubstr("autopilot jobs ack 00c0ffee00c0ffee"));
  EXPECT_THAT(page, HasSubstr("processes, telemetry, logs"));
}

TEST(JobPages, why_fits_a_screen_whatever_the_texts_are) {
  jobs::JobReport report = hung_job();
  const std::string endless(3000, 'x');
  jobs::JobFinding& finding = report.findings[0];
  finding.summary = finding.decision.because = endless + " " + endless;
  for (int rank = 0; rank < 1000; ++rank)
    finding.ranks.push_back(rank);
  for (int at = 0; at < 20; ++at)
    finding.evidence.push_back({.text = endless + " " + endless});
  report.state.not_seen.assign(30, endless);
  for (const bool is_ended : {false, true}) {
    if (is_ended) {
      report = sample_job();
      report.failure->sentence = endless + " " + endless;
      report.failure->evidence.assign(8, {.text = endless + " " + endless});
      report.failure->not_available.assign(20, endless);
      report.findings[1].summary = endless;
      report.state.not_seen.assign(30, endless);
    }
    JobPageContext validated = context();
    validated.validation.assign(2, endless + " " + endless);
    const std::string page = render_job_why(report, validated, {});
    EXPECT_LE(lines_of(page), kWhyLines) << page;
  }
}

TEST(JobPages, why_of_a_job_that_failed_states_the_kind_of_failure) {
  const std::string page = render_job_why(sample_job(), context(), {});
  EXPECT_THAT(page, HasSubstr("ended with an error"));
  EXPECT_THAT(page, HasSubstr("hardware: GPU 3 of gpu-001 fell off the bus"));
  EXPECT_THAT(page, HasSubstr("it began at rank 3"));
}

TEST(JobPages, a_job_that_ended_has_the_validation_of_this_machine) {
  JobPageContext validated = context();
  validated.validation = {"failed: gpu.ecc is not as good as before the job", "quick diagnostics of 2 GPUs"};
  const std::string why = render_job_why(sample_job(), validated, {});
  EXPECT_THAT(why, HasSubstr("Afterwards failed: gpu.ecc is not as good as before the job"));
  EXPECT_THAT(render_job_page(sample_job(), validated, {}), HasSubstr("quick diagnostics of 2 GPUs"));
}

TEST(JobPages, why_of_a_healthy_job_states_what_was_read) {
  jobs::JobReport report = hung_job();
  report.state.health = jobs::JobHealth::running;
  report.findings.clear();
  const std::string page = render_job_why(report, context(), {});
  EXPECT_THAT(page, HasSubstr("ml/llama-7f3a runs, and nothing is wrong"));
  EXPECT_THAT(page, HasSubstr("by steps, step 912, 4.50 s each"));
  EXPECT_THAT(page, HasSubstr("16 ranks on 2 nodes"));
}

TEST(JobPages, unknown_is_not_healthy) {
  jobs::JobReport report = hung_job();
  report.state.health = jobs::JobHealth::unknown;
  report.state.progress_source.clear();
  report.findings.clear();
  const std::string page = render_job_why(report, context(), {});
  EXPECT_THAT(page, HasSubstr("unknown whether the job makes progress"));
  EXPECT_THAT(page, Not(HasSubstr("nothing is wrong")));
  EXPECT_EQ(health_of(report), Health::unknown);
}

TEST(JobPages, the_list_has_culprits_and_what_is_not_seen) {
  api::JobList list{.time = kNow, .jobs = {hung_job()}, .sources = {"processes"}, .not_seen = {"logs: no"}};
  const std::string page = render_job_list(list, kNow, {.width = 120});
  EXPECT_THAT(page, HasSubstr("ml/llama-7f3a"));
  EXPECT_THAT(page, HasSubstr("hung"));
  EXPECT_THAT(page, HasSubstr("GPU 3 of gpu-001"));
  EXPECT_THAT(page, HasSubstr("12 min"));
  EXPECT_THAT(page, HasSubstr("Not seen   logs: no"));
}

TEST(JobPages, an_empty_list_says_so) {
  EXPECT_THAT(render_job_list({.time = kNow}, kNow, {}), HasSubstr("No job runs here."));
  EXPECT_THAT(render_job_list({}, kNow, {}), HasSubstr("first search"));
}

TEST(JobPages, the_page_has_findings_losses_and_feedback) {
  const std::string page = render_job_page(sample_job(), context(), {});
  EXPECT_THAT(page, HasSubstr("Owner      PyTorchJob ml/llama"));
  EXPECT_THAT(page, HasSubstr("continue 12.50 h"));
  EXPECT_THAT(page, HasSubstr("a debugger stopped it"));
  EXPECT_THAT(page, HasSubstr("gpu-001, gpu-002"));
  EXPECT_THAT(page, HasSubstr("over since"));
}

TEST(JobPages, the_page_names_the_folders_with_evidence) {
  JobPageContext captured = context();
  captured.evidence = {"/var/lib/autopilot/jobs/evidence/00c0ffee00c0ffee"};
  EXPECT_THAT(render_job_page(sample_job(), captured, {}), HasSubstr("jobs/evidence/00c0ffee00c0ffee"));
  EXPECT_EQ(render_job_page(sample_job(), context(), {}).find("Captured"), std::string::npos);
}

TEST(JobPages, control_characters_of_a_job_do_not_reach_the_terminal) {
  jobs::JobReport report = hung_job();
  report.findings[0].summary = "\x1b[2J all is well";
  report.state.job = "a\x1b]0;x";
  for (const std::string& page :
       {render_job_why(report, context(), {}), render_job_page(report, context(), {}),
        render_job_list({.time = kNow, .jobs = {report}}, kNow, {})})
    EXPECT_EQ(page.find('\x1b'), std::string::npos);
}

TEST(JobPages, health_is_that_of_the_worst) {
  jobs::JobReport report = hung_job();
  EXPECT_EQ(health_of(report), Health::failed);
  report.state.health = jobs::JobHealth::stalled;
  EXPECT_EQ(health_of(report), Health::degraded);
  report.state.health = jobs::JobHealth::running;
  report.findings.clear();
  EXPECT_EQ(health_of(report), Health::healthy);
  EXPECT_EQ(health_of(sample_job()), Health::failed);
}

}  // namespace
}  // namespace autopilot::cli::job_pages_test
