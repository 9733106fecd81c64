// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "core/parse.hpp"
#include "host/kernel_log/text_log.hpp"

namespace autopilot::host {

// For tests of text logs: parses all records of a text.
inline std::vector<KernelRecord> read_text_log(std::string_view text) {
  TextLogReader reader;
  std::vector<KernelRecord> records;
  const auto add = [&records](std::vector<KernelRecord> more) {
    for (auto& record : more)
      records.push_back(std::move(record));
  };
  for (const auto line : split(text, '\n'))
    add(reader.add_line(line));
  add(reader.finish());
  return records;
}

inline constexpr std::string_view kLogText =
    "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x: y, GPU has fallen off the bus.";

}  // namespace autopilot::host
