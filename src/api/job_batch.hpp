// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"

// POST /v1/jobs/records: an agent reports what its node sees of jobs. The body has a first line that
// describes the batch, then lines of docs/reference/job-telemetry.md. Pure.
namespace autopilot::api {

inline constexpr const char* kJobRecordsPath = "/v1/jobs/records";
inline constexpr const char* kJobRecordsType = "application/x-ndjson";

// The first line.
struct JobBatch {
  static constexpr std::size_t kLongestHead = 1024;    // bytes, without the line end
  static constexpr std::size_t kLongestNode = 253;     // bytes
  static constexpr std::size_t kLongestInstance = 64;  // bytes

  std::string node;            // that the agent runs on; its certificate bears the name
  std::string instance;        // of the agent: another text after each start
  std::uint64_t sequence = 0;  // of the batch: 1, 2, 3 ... within the instance
  WallTime sent{};             // clock of the sender, 1970 to 2100, when it sends or sends again
  // The lines begin with the node and all of its running jobs. A receiver that does not know the agent needs
  // such a batch first.
  bool is_whole = false;
  std::uint64_t dropped = 0;  // records that the agent left out since its start, for lack of room
};

// The line with its line end.
[[nodiscard]] std::string to_line(const JobBatch& batch);
// A body: its first line, and the rest. `records` is a view into the body.
struct JobBatchBody {
  JobBatch batch;
  std::string_view records;
};
// malformed: the first line is missing, too long, or has a missing, unknown or invalid member.
[[nodiscard]] Result<JobBatchBody> parse_job_batch(std::string_view body);

// A job that is suspected to hang.
struct SuspectedJob {
  std::string job;      // key
  std::string finding;  // id; empty: the job is only stalled
  friend bool operator==(const SuspectedJob&, const SuspectedJob&) = default;
};

// Answer 200.
struct JobBatchAnswer {
  static constexpr std::size_t kMostSuspected = 16;

  std::uint64_t taken = 0;   // highest sequence of this instance that was taken; 0: none
  bool wants_whole = false;  // the next batch must be whole, and everything after `taken` is sent again
  // With ranks on the node, as of now; the agent captures evidence about them. Further ones are left out.
  std::vector<SuspectedJob> suspected = {};
};
[[nodiscard]] std::string to_json(const JobBatchAnswer& answer);
[[nodiscard]] Result<JobBatchAnswer> parse_job_batch_answer(std::string_view json);

}  // namespace autopilot::api
