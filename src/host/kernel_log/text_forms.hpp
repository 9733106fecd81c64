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
  enum class Form : std::uint8_t { bare, kmsg, tree, dmesg, syslog, journal, trace, program };
  Form form = Form::bare;
  std::optional<int> facility;  // nothing: the form does not say
  int priority = 6;
  // The form does not name another writer than the kernel.
  bool is_kernel = true;
  bool is_carried = false;  // something else printed the row and put its own mark in front
  std::optional<WallTime> wall;
  std::optional<std::uint64_t> microseconds;  // since boot
  bool injected = false;
  std::string host;  // of a row of the journal with the time since boot, where its writer is sure
  std::string text;  // not cleaned yet
};

// Never fails: what has no known form is a bare message. Nothing for a line that is no record at all (an
// empty one, a journal entry without message, a loss in kmsg.jsonl, an object of another kind).
//
// A row is, from left to right: what carried it (row_carriers.hpp), a priority, times (row_stamps.hpp), the
// writer, a time again, and the text. A writer is the kernel only where its tag is "kernel" without a number
// of a process; a row with the time of a wall clock needs that tag, because the kernel prints none.
//
// `host`: that of earlier rows. Behind a time since boot it tells "host program: text" of the journal from
// what the kernel writes of a device; without a number of a process nothing else does.
[[nodiscard]] std::optional<TextRow> parse_text_row(std::string_view line, std::string_view host = {});

}  // namespace autopilot::host
