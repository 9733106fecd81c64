// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "host/kernel_log/text_forms.hpp"

namespace autopilot::host {

// The fields of one entry of the journal by their names, in whatever output form: those that
// parse_journal_entry asks for, and any others.
using JournalFields = std::map<std::string, std::string, std::less<>>;

// Nothing where there is no message. The journal sets _TRANSPORT itself; what user space wrote to the kernel
// log has another facility. An entry of that transport without a facility proves neither.
[[nodiscard]] std::optional<TextRow> parse_journal_entry(const JournalFields& fields);

struct JsonRow {
  bool is_object = false;      // otherwise the text is not a JSON object
  std::optional<TextRow> row;  // nothing for objects of another kind and for those without a message
};
// A row in a JSON object: an entry of `journalctl -o json`, also with the names that collectors give its
// message, an object of `dmesg --json`, a line of kmsg.jsonl, or the line of a container's log file.
[[nodiscard]] JsonRow parse_json_row(std::string_view text);

}  // namespace autopilot::host
