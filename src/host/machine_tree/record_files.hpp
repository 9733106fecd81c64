// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/result.hpp"
#include "host/files/files.hpp"

namespace autopilot::host {

struct RecordedFile {
  bool is_link = false;
  std::string text;           // contents, or where the link points as an absolute path of the machine
  bool is_folder = false;     // one whose names could not be read
  std::optional<Errc> error;  // why it could not be read: denied, timed_out, unsupported or unavailable
};

// By absolute path.
using RecordedFiles = std::map<std::string, RecordedFile, std::less<>>;

inline constexpr std::size_t kMaxRecordedFiles = 100'000;

// What the doors read of this machine, and what a person wants to see beside it. Only names of a fixed list
// are opened: some files of sysfs change a device when they are read. What is there and cannot be read is
// recorded as such: left out it would be taken for missing, and a look that fails for a healthy one.
// exhausted: more than kMaxRecordedFiles.
[[nodiscard]] Result<RecordedFiles> record_files(const Files& files);

}  // namespace autopilot::host
