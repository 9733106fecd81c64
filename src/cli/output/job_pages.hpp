// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/jobs_v1.hpp"
#include "cli/output/table.hpp"
#include "core/clock.hpp"
#include "jobs/brain.hpp"
#include "jobs/decision/advice.hpp"

// What `autopilot jobs` and `kubectl autopilot jobs` print. Texts of jobs are untrusted: control characters
// are replaced.
namespace autopilot::cli {

// Table of jobs, and what was read and what was not.
[[nodiscard]] std::string render_job_list(const api::JobList& list, WallTime now, const TableStyle& style);

// What a page about one job rests on, beside its report.
struct JobPageContext {
  WallTime now{};
  std::vector<std::string> sources;     // what is read
  std::vector<std::string> not_seen;    // what cannot be read, each a sentence with the cure
  std::vector<std::string> evidence;    // of the job: folders on this machine, the newest first
  std::vector<std::string> validation;  // of this machine after the job: sentences, the result first
  jobs::CommandPlace place = jobs::CommandPlace::machine;
  std::string command = "autopilot";  // "kubectl autopilot": begins the commands that follow up
};

// Everything about a job: state, findings with evidence and decision, failure, what people stated.
[[nodiscard]] std::string render_job_page(const jobs::JobReport& report, const JobPageContext& context,
                                          const TableStyle& style);

// The answer to "why?" in at most kWhyLines lines: what stopped, since when, because of what, the evidence,
// what to do. Also for a job that ended, and for one in which nothing is wrong.
inline constexpr std::size_t kWhyLines = 23;  // and the next prompt: 24
[[nodiscard]] std::string render_job_why(const jobs::JobReport& report, const JobPageContext& context,
                                         const TableStyle& style);

// Health of a job as that of a machine: hung or failed, slow or stalled, unknown, healthy.
[[nodiscard]] Health health_of(const jobs::JobReport& report);

// The worst open finding above info; null: none.
[[nodiscard]] const jobs::JobFinding* worst_finding(const jobs::JobReport& report);

}  // namespace autopilot::cli
