// SPDX-License-Identifier: Apache-2.0
// A body that an agent sends to the controller, and the records in it.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "api/job_batch.hpp"
#include "core/result.hpp"
#include "job_hub/hub.hpp"
#include "jobs/assembly.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::job_batch_fuzz {

int run(const std::uint8_t* data, std::size_t size) {
  const void* bytes = data;
  const std::string_view text(static_cast<const char*>(bytes), size);
  (void)api::parse_job_batch_answer(text);
  const auto body = api::parse_job_batch(text);
  if (!body) {
    AUTOPILOT_ASSERT(!body.error().what.empty());
    return 0;
  }
  AUTOPILOT_ASSERT(body->batch.sequence > 0);
  const std::string written = to_line(body->batch);
  AUTOPILOT_ASSERT(api::parse_job_batch(written));
  job_hub::ReadBatch read = job_hub::read_records(
      {.node = body->batch.node, .lines = std::string(body->records), .clock_offset = std::chrono::hours(1)});
  AUTOPILOT_ASSERT((read.malformed == 0) == read.problem.empty());
  jobs::Assembly assembly;
  std::vector<jobs::Record> assembled;
  assembly.begin_session(body->batch.node);
  for (jobs::Record& record : read.records)
    assembly.add(body->batch.node, std::move(record), assembled);
  assembly.advance(body->batch.sent, assembled);
  return 0;
}

}  // namespace autopilot::job_batch_fuzz
