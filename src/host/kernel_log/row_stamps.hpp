// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "host/kernel_log/text_forms.hpp"

namespace autopilot::host {

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

}  // namespace autopilot::host
