// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cli/recording/scrub_job.hpp"
#include "cli/recording/scrubber.hpp"
#include "core/parse.hpp"
#include "core/result.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::scrub_fuzz {
namespace {

// A placeholder is longer than a value only by a name and a number.
constexpr std::size_t kMostGrowth = 40;

std::string scrub(std::string_view text) {
  cli::Scrubber scrubber({"nvme", "xid"});
  const std::size_t half = text.size() / 2;
  scrubber.learn_name(cli::SecretKind::host, text.substr(0, half));
  scrubber.learn_serial(text.substr(half));
  std::string scrubbed = scrubber.apply(text);
  AUTOPILOT_ASSERT(scrubbed.size() <= kMostGrowth * (text.size() + 1));
  if (to_utf8(text) == text) AUTOPILOT_ASSERT(to_utf8(scrubbed) == scrubbed);
  // What was learned meanwhile is replaced as well, and then nothing changes any more.
  const std::string again = scrubber.apply(text);
  AUTOPILOT_ASSERT(scrubber.apply(text) == again);
  return scrubbed;
}

}  // namespace

// Any text is scrubbed to a text of limited size, of the same lines; UTF-8 remains UTF-8.
int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)scrub(text);
  cli::JobScrubber jobs;
  (void)jobs.apply(text);
  return 0;
}

}  // namespace autopilot::scrub_fuzz
