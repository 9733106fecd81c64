// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/json.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "jobs/brain.hpp"

// Wire format of running jobs: /v1/jobs of openapi.yaml. The rules of v1.hpp apply. The members of a finding
// and of the state of a job are those of job_findings.hpp.
namespace autopilot::api {

// The program that evaluates the records of the jobs.
enum class JobBrain : std::uint8_t { agent, controller, coordinator };
[[nodiscard]] std::string_view to_string(JobBrain brain);

// The jobs that an agent, or a controller, knows.
struct JobList {
  WallTime time{};   // of the last evaluation; the epoch: none yet
  std::string node;  // empty in the answer of a controller
  JobBrain brain = JobBrain::agent;
  std::vector<jobs::JobReport> jobs;  // ordered by key
  std::vector<std::string> sources;   // what is read, each a word: "processes", "telemetry", "logs" ...
  std::vector<std::string> not_seen;  // what cannot be read, each a sentence with the cure
  bool is_simulated = false;
};

// `{"jobs":[...]}`: without ended findings, feedback, names of nodes and more than kListedRanks ranks of a
// finding.
inline constexpr std::size_t kListedRanks = 32;
[[nodiscard]] std::string to_json(const JobList& list);
[[nodiscard]] Result<JobList> parse_jobs(std::string_view json);

// An agent asks the program that evaluates the jobs for the outcome of a job of its node: `job` and `node` in
// the query. The answer is one job.
inline constexpr const char* kJobOutcomePath = "/v1/jobs/outcome";

// One job with everything.
[[nodiscard]] std::string to_json(const jobs::JobReport& report, bool is_simulated);
[[nodiscard]] Result<jobs::JobReport> parse_job(std::string_view json);

// Body of POST /v1/jobs/feedback. malformed: no finding, or a text is too long.
struct JobFeedbackRequest {
  std::string finding;  // id
  jobs::Verdict verdict = jobs::Verdict::unclear;
  std::string note;  // at most 1 KiB
};
[[nodiscard]] std::string to_json(const JobFeedbackRequest& request);
[[nodiscard]] Result<JobFeedbackRequest> parse_job_feedback(std::string_view json);

// Body of POST /v1/jobs/ack.
struct JobAckRequest {
  std::string finding;  // id
};
[[nodiscard]] std::string to_json(const JobAckRequest& request);
[[nodiscard]] Result<JobAckRequest> parse_job_ack(std::string_view json);

// Body of POST /v1/jobs/mute. malformed: no job, or not 0 s to kLongest. 0 s ends a mute.
struct JobMuteRequest {
  static constexpr Duration kLongest = std::chrono::days(30);
  std::string job;
  Duration duration{};
};
[[nodiscard]] std::string to_json(const JobMuteRequest& request);
[[nodiscard]] Result<JobMuteRequest> parse_job_mute(std::string_view json);

// Members "feedback" and "acknowledged" of the open object: what people stated about the findings of a job;
// and one element of these lists.
void write_feedback(JsonWriter& json, const std::vector<jobs::Feedback>& feedback);
void write_acknowledged(JsonWriter& json, const std::vector<jobs::Acknowledgement>& acknowledged);
[[nodiscard]] jobs::Feedback read_feedback(const JsonObject& object);
[[nodiscard]] jobs::Acknowledgement read_acknowledgement(const JsonObject& object);

// "confirmed", "refuted", "unclear"
[[nodiscard]] std::string_view to_string(jobs::Verdict verdict);
[[nodiscard]] std::optional<jobs::Verdict> parse_job_verdict(std::string_view word);

}  // namespace autopilot::api
