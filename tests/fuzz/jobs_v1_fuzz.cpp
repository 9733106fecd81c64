// SPDX-License-Identifier: Apache-2.0
// Answers and requests about running jobs: what a reader accepts keeps to the limits, and is written so that
// it is accepted again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/jobs_v1.hpp"
#include "core/result.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::jobs_v1_fuzz {
namespace {

template <class T>
void round_trip(std::string_view json, Result<T> (*parse)(std::string_view)) {
  const auto first = parse(json);
  if (first) AUTOPILOT_ASSERT(parse(api::to_json(*first)).has_value());
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  const void* bytes = data;
  const std::string_view text(static_cast<const char*>(bytes), size);
  if (const auto mute = api::parse_job_mute(text))
    AUTOPILOT_ASSERT(!mute->job.empty() && mute->duration <= api::JobMuteRequest::kLongest);
  round_trip(text, api::parse_jobs);
  if (const auto job = api::parse_job(text))
    AUTOPILOT_ASSERT(api::parse_job(api::to_json(*job, false)).has_value());
  round_trip(text, api::parse_job_feedback);
  round_trip(text, api::parse_job_ack);
  round_trip(text, api::parse_job_mute);
  return 0;
}

}  // namespace autopilot::jobs_v1_fuzz
