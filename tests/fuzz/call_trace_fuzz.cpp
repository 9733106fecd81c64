// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/why/call_trace.hpp"
#include "core/parse.hpp"
#include "core/result.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::call_trace_fuzz {
namespace {

bool is_within(std::string_view part, std::string_view text) {
  return part.empty() ||
         (part.data() >= text.data() && part.data() + part.size() <= text.data() + text.size());
}

void check_line(std::string_view line) {
  const auto function = cli::parse_trace_function(line);
  if (!function) return;
  AUTOPILOT_ASSERT(!function->name.empty());
  AUTOPILOT_ASSERT(is_within(function->name, line) && is_within(function->module, line));
  const cli::WaitsFor found = cli::waits_for(*function);
  AUTOPILOT_ASSERT(found.what.empty() || !cli::wait_sentence(found.what).empty());
}

}  // namespace

// Records of the kernel log, a line each. Whatever follows a hung task, what it waits for has a sentence and
// a function.
int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<host::KernelRecord> records;
  for (const std::string_view line : split(text, '\n')) {
    check_line(line);
    host::KernelRecord record;
    record.text = std::string(line);
    records.push_back(std::move(record));
  }
  constexpr std::size_t kMostTasks = 64;  // the first ones show it
  for (std::size_t i = 0; i < records.size() && i < kMostTasks; ++i) {
    const cli::WaitPlace place = cli::wait_place(records, i);
    AUTOPILOT_ASSERT(place.what.empty() == place.function.empty());
    AUTOPILOT_ASSERT(place.what.empty() || !cli::wait_sentence(place.what).empty());
  }
  return 0;
}

}  // namespace autopilot::call_trace_fuzz
