// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/result.hpp"
#include "host/kernel_log/kmsg_source.hpp"
#include "host/kernel_log/syslog_source.hpp"
#include "host/kernel_log/tree_kernel_log.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::kmsg_fuzz {

// Whatever a record holds, the text that comes out is bounded and stays the same when it is cleaned again.
int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string clean = host::clean_log_text(text, 512);
  AUTOPILOT_ASSERT(clean.size() <= 512);
  for (const char c : clean)
    AUTOPILOT_ASSERT(static_cast<unsigned char>(c) >= ' ' || c == '\n' || c == '\t');
  if (auto record = host::parse_kmsg_record(text)) {
    AUTOPILOT_ASSERT(record->text.size() <= host::KernelRecord::kMaxText);
    AUTOPILOT_ASSERT(record->priority >= 0 && record->priority <= 7 && record->facility >= 0);
    (void)host::to_kernel_record(std::move(*record), Instant{});
  }
  if (const auto row = host::parse_syslog_row(text)) (void)host::syslog_sequence(*row);
  (void)host::parse_tree_log_line(text);
  return 0;
}

}  // namespace autopilot::kmsg_fuzz
