// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "core/clock.hpp"
#include "jobs/brain.hpp"

// Reports of the in-flight engine for tests.
namespace autopilot::controller::testing {

inline constexpr WallTime kJobTime{std::chrono::seconds{1767225630}};

inline jobs::JobFinding job_finding(jobs::Effect effect = jobs::Effect::hang) {
  jobs::JobFinding finding;
  finding.id = "00112233aabbccdd";
  finding.job = "ml/train-7f3a";
  finding.effect = effect;
  finding.culprit = {.kind = jobs::EntityKind::gpu, .node = "n1", .gpu = 3, .nic = {}};
  finding.cause = "xid_79";
  finding.severity = jobs::Severity::page;
  finding.probability = 0.97;
  finding.onset = kJobTime - std::chrono::minutes{5};
  finding.detected = kJobTime;
  finding.summary = "GPU 3 of n1 stopped the job";
  finding.evidence.push_back({.signal = "xid", .text = "Xid 79 at 10:00"});
  return finding;
}

// A job whose pods the Job ml/train created, on n1 and n2, with one finding.
inline jobs::JobReport job_report() {
  jobs::JobReport report;
  report.state.job = "ml/train-7f3a";
  report.state.name = "train";
  report.state.health = jobs::JobHealth::hung;
  report.state.step = 812;
  report.owner = "Job ml/train";
  report.nodes = {"n1", "n2"};
  report.started = kJobTime - std::chrono::hours{1};
  report.findings.push_back(job_finding());
  return report;
}

inline jobs::Failure job_failure(jobs::FailureKind kind = jobs::FailureKind::hardware) {
  jobs::Failure failure;
  failure.kind = kind;
  failure.cause = "xid_79";
  failure.culprit = {.kind = jobs::EntityKind::gpu, .node = "n1", .gpu = 3, .nic = {}};
  failure.time = kJobTime;
  failure.sentence = "GPU 3 of n1 fell off the bus";
  failure.not_available = {"flight recorder: no dump"};
  return failure;
}

inline jobs::WantedAction wanted_action(jobs::Choice choice) {
  const jobs::JobFinding finding = job_finding();
  return {.finding = finding,
          .request = {.job = finding.job,
                      .choice = choice,
                      .culprit = finding.culprit,
                      .cause = finding.cause,
                      .is_known = true},
          .owner = "Job ml/train"};
}

}  // namespace autopilot::controller::testing
