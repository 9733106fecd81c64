// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace autopilot::host {

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
