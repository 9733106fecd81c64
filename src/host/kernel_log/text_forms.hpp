// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.hpp"

namespace autopilot::host {

// One parsed line of a text log.
struct TextRow {
  enum class Form : std::uint8_t { bare, kmsg, tree, dmesg, syslog, journal, trace, program };
  Form form = Form::bare;
  std::optional<int> facility;  // missing: the format has no facility
  int priority = 6;
  // False if the format names another writer than the kernel.
  bool is_kernel = true;
  bool is_carried = false;  // another program printed the row with its own prefix
  std::optional<WallTime> wall;
  std::optional<std::uint64_t> microseconds;  // since boot
  bool injected = false;
  std::string host;  // host name of a journal row with a time since boot, if the writer is certain
  std::string text;  // before clean_log_text
};

// Never fails: a line of an unknown format is a bare message. Empty for a line without a record (an empty
// line, a journal entry without message, a loss in kmsg.jsonl, an object of another kind).
//
// From left to right a row has: prefixes of carriers, a priority, timestamps, the writer, another timestamp,
// and the text. The writer is the kernel only if its tag is "kernel" without a process id; a row with
// wall-clock time needs that tag, because the kernel prints no wall-clock time.
//
// `host`: the host name of earlier rows. After a time since boot, only the host name or a process id
// distinguishes "host program: text" of the journal from the kernel's "driver device: text".
[[nodiscard]] std::optional<TextRow> parse_text_row(std::string_view line, std::string_view host = {});

// The number of ASCII digits at the beginning of `text`.
[[nodiscard]] std::size_t leading_digits(std::string_view text);

// True if `text` begins like `picture`: '0' matches any digit, '_' a digit or a blank, 'A' any ASCII letter,
// other characters themselves.
[[nodiscard]] bool looks_like(std::string_view text, std::string_view picture);

// The kind of a timestamp: `log` from a wall-clock log, which names the writer after it; `ring` from dmesg or
// a console, which do not.
enum class StampKind : std::uint8_t { none, ring, log };

// Removes a timestamp of any format, the kernel's caller and the following blank from the front; stores a
// complete time in `row`. none: no timestamp, `text` is unchanged.
[[nodiscard]] StampKind take_stamp(std::string_view& text, TextRow& row);

// Removes "[   12.345678] " with or without a distance to the previous row; false leaves `text` unchanged.
[[nodiscard]] bool take_seconds_since_boot(std::string_view& text, TextRow& row);

// Removes "<3>", or "kern  :err   : " of `dmesg -x`; false leaves `text` unchanged.
[[nodiscard]] bool take_priority(std::string_view& text, TextRow& row);

// Removes "NODE: kern: warning: " of `talosctl dmesg` if a time in brackets follows; the node may be missing.
[[nodiscard]] bool take_talos_priority(std::string_view& text, TextRow& row);

// Parses facility and level such as "kern" and "err", as dmesg, syslog and Talos write them. False for other
// words.
[[nodiscard]] bool set_priority(std::string_view facility, std::string_view level, TextRow& row);

// A carrier printed a row of the kernel log with its own prefix.
enum class Carrier : std::uint8_t {
  none,
  person,     // grep, cat -n, pdsh, a console with a login prompt, a quoted mail
  container,  // the log of a container: a program printed the row
};

// True if `text` begins with a row of a known format: a timestamp, a priority, the kernel's tag, or a raw
// record.
using BeginsRow = bool (*)(std::string_view text);

// Removes the prefixes of all carriers. Returns `container` if one of them is a container, otherwise
// `person`, or `none`.
[[nodiscard]] Carrier take_carriers(std::string_view& text, BeginsRow begins_row);

// True if the line begins like a program's own log: klog, key=value, JSON, Python's logging, a level.
[[nodiscard]] bool is_program_log(std::string_view line);
// True if the text after a timestamp begins with a level of a program's log: "ERROR", "[info]", "warn:".
[[nodiscard]] bool begins_with_level(std::string_view text);
// True if the text before a kernel message shows that a program quotes it: a tag, a quotation mark, an
// assignment, or several words.
[[nodiscard]] bool is_quotation(std::string_view front);

}  // namespace autopilot::host
