// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.hpp"

namespace autopilot::host {

// One line of a text log taken apart.
struct TextRow {
  enum class Form : std::uint8_t { bare, kmsg, tree, dmesg, syslog, journal_json, trace };
  Form form = Form::bare;
  std::optional<int> facility;  // nothing: the form does not say
  int priority = 6;
  bool is_kernel = true;  // the tag is the kernel's; true where the form has none
  std::optional<WallTime> wall;
  std::optional<std::uint64_t> microseconds;  // since boot
  bool injected = false;
  std::string text;  // not cleaned yet
};

// Never fails: what has no known form is a bare message. Nothing for a line that is no record at all (an
// empty one, a journal entry without message, a loss in kmsg.jsonl).
[[nodiscard]] std::optional<TextRow> parse_text_row(std::string_view line);

}  // namespace autopilot::host
