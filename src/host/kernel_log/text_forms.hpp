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

// The number of ASCII digits at the beginning.
[[nodiscard]] std::size_t leading_digits(std::string_view text);

// Compares the beginning with a picture: '0' any digit, '_' a digit or a blank, 'A' any ASCII letter,
// anything else itself.
[[nodiscard]] bool looks_like(std::string_view text, std::string_view picture);

// Who prints such a time in front of a row. A log that is kept by wall clock names the writer behind the
// time; dmesg and the console do not.
enum class StampKind : std::uint8_t { none, ring, log };

// Takes a time of any form, the caller of the kernel and the blank behind it off the front, and keeps what
// the time says whole. none: there is none, and the text is left as it is.
[[nodiscard]] StampKind take_stamp(std::string_view& text, TextRow& row);

// "[  12.345678] " with or without a distance; false leaves the text as it is.
[[nodiscard]] bool take_seconds_since_boot(std::string_view& text, TextRow& row);

// "<3>", or "kern  :err   : " of `dmesg -x`; false leaves the text as it is.
[[nodiscard]] bool take_priority(std::string_view& text, TextRow& row);

// "NODE: kern: warning: " of `talosctl dmesg`, where a time in brackets follows; the node may be absent.
[[nodiscard]] bool take_talos_priority(std::string_view& text, TextRow& row);

// "kern" and "err", "warning" as dmesg, syslog and Talos write them. False for other words.
[[nodiscard]] bool set_priority(std::string_view facility, std::string_view level, TextRow& row);

// What carried a row of a kernel log to the reader and put something in front of it.
enum class Carrier : std::uint8_t {
  none,
  person,     // grep, cat -n, pdsh, a console with a login prompt, a quotation mark of a mail
  container,  // the log of a container: a program printed the row
};

// Whether a row of a known form begins here: a time, a priority, a tag of the kernel, a raw record.
using BeginsRow = bool (*)(std::string_view text);

// Takes all carriers off the front and names the last of them that is not `none`.
[[nodiscard]] Carrier take_carriers(std::string_view& text, BeginsRow begins_row);

// Whether the line begins as programs write their own logs: klog, key=value, JSON, Python's logging, a level.
[[nodiscard]] bool is_program_log(std::string_view line);
// Whether a word behind a time is a level of a program's log: "ERROR", "[info]", "warn:".
[[nodiscard]] bool begins_with_level(std::string_view text);
// Whether what stands in front of a message of the kernel shows that a program quotes it: a tag, a quotation
// mark, an assignment, or several words.
[[nodiscard]] bool is_quotation(std::string_view front);

}  // namespace autopilot::host
