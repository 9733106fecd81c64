// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "api/jobs_v1.hpp"

namespace autopilot::api::testing {

inline constexpr WallTime kJobTime{std::chrono::seconds{1767225600}};

inline jobs::JobFinding sample_job_finding() {
  jobs::JobFinding finding;
  finding.id = "00c0ffee00c0ffee";
  finding.job = "ml/llama-7f3a";
  finding.effect = jobs::Effect::hang;
  finding.severity = jobs::Severity::page;
  finding.culprit = {jobs::EntityKind::gpu, "gpu-001", 3, ""};
  finding.ranks = {3, 11};
  finding.cause = "hang";
  finding.probability = 0.85;
  finding.onset = kJobTime;
  finding.detected = kJobTime + std::chrono::minutes(2);
  finding.summary = "no step has ended since 2026-01-01T00:00:00.000Z";
  finding.evidence.push_back(
      {jobs::Family::clock, "sm_clock_low", "1,200 MHz", 1200, 1755, 1600, 2.5, kJobTime});
  finding.ruled_out = {"the network: all ports carry what they did"};
  finding.decision.choice = jobs::Choice::stop_now;
  finding.decision.loss_continue = 12.5;
  finding.decision.because = "The job hangs";
  return finding;
}

// A job with everything that a report can have.
inline jobs::JobReport sample_job() {
  jobs::JobReport report;
  report.state = {.job = "ml/llama-7f3a",
                  .name = "llama",
                  .health = jobs::JobHealth::hung,
                  .attempt = 2,
                  .ranks = 16,
                  .nodes = 2,
                  .step_s = 4.5,
                  .step = 912,
                  .last_step = kJobTime,
                  .progress_source = "steps",
                  .not_seen = {"steps"}};
  report.owner = "PyTorchJob ml/llama";
  report.nodes = {"gpu-001", "gpu-002"};
  report.started = kJobTime - std::chrono::hours(2);
  report.ended = kJobTime + std::chrono::hours(1);
  report.outcome = jobs::Outcome::failed;
  report.failure = jobs::Failure{.kind = jobs::FailureKind::hardware,
                                 .cause = "xid_79",
                                 .culprit = {jobs::EntityKind::gpu, "gpu-001", 3, ""},
                                 .rank = 3,
                                 .node = "gpu-001",
                                 .gpu = 3,
                                 .time = kJobTime,
                                 .sentence = "GPU 3 of gpu-001 fell off the bus",
                                 .not_available = {"logs"}};
  report.afterwards =
      jobs::Afterwards{.nodes = 2,
                       .passed = 0,
                       .failed = 1,
                       .unknown = 1,
                       .not_passed = {{.time = kJobTime + std::chrono::minutes(62),
                                       .node = "gpu-001",
                                       .job = "ml/llama-7f3a",
                                       .verdict = jobs::ValidationVerdict::failed,
                                       .text = "1 of 31 checks not as good as before the job",
                                       .failed = {{.check = "network.rdma",
                                                   .reason = "port_down",
                                                   .gpu = "1650123",
                                                   .text = "mlx5_0 port 1: the port is down"}}},
                                      {.time = kJobTime + std::chrono::minutes(63),
                                       .node = "gpu-002",
                                       .job = "ml/llama-7f3a",
                                       .verdict = jobs::ValidationVerdict::unknown,
                                       .text = "the next job began",
                                       .failed = {}}},
                       .cause = "network.rdma on gpu-001"};
  report.findings = {sample_job_finding(), sample_job_finding()};
  report.findings[1].id = "1111111111111111";
  report.findings[1].effect = jobs::Effect::slow;
  report.findings[1].culprit = {jobs::EntityKind::leaf, "leaf-1", -1, ""};
  report.findings[1].slowdown = 0.1;
  report.findings[1].resolved = kJobTime + std::chrono::minutes(9);
  report.feedback = {{.time = kJobTime,
                      .finding = "00c0ffee00c0ffee",
                      .verdict = jobs::Verdict::refuted,
                      .by = "uid 0",
                      .note = "a debugger stopped it"}};
  report.acknowledged = {{.time = kJobTime, .finding = "00c0ffee00c0ffee", .by = "uid 0"}};
  report.is_muted = true;
  return report;
}

}  // namespace autopilot::api::testing
