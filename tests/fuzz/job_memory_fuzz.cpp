// SPDX-License-Identifier: Apache-2.0
// What a leader stores about a job for the next one: what the reader accepts keeps to the limits, is written
// so that it is accepted again, and a brain takes it over.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "controller/jobs/memory/job_memory.hpp"
#include "core/result.hpp"
#include "jobs/brain.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::job_memory_fuzz {

int run(const std::uint8_t* data, std::size_t size) {
  constexpr std::string_view job = "ml/train";
  constexpr WallTime now{std::chrono::seconds{1767225630}};
  const void* bytes = data;
  auto read = controller::parse_job_memory({static_cast<const char*>(bytes), size}, job, now);
  if (!read) return 0;
  AUTOPILOT_ASSERT(read->done.size() <= jobs::JobReport::kMaxDone);
  for (const jobs::DoneAction& action : read->done)
    AUTOPILOT_ASSERT(action.time <= now);
  const std::string text = controller::format_job_memory(*read);
  AUTOPILOT_ASSERT(text.empty() || controller::parse_job_memory(text, job, now).has_value());
  jobs::Brain brain;
  brain.restore({*std::move(read)}, now);
  brain.add(jobs::JobRecord{.time = now, .job = std::string(job), .ranks = {{.rank = 0, .node = "n1"}}});
  brain.advance(now + jobs::Brain::kAbsent);
  AUTOPILOT_ASSERT(brain.take_actions().empty());
  return 0;
}

}  // namespace autopilot::job_memory_fuzz
