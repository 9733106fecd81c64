// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/result.hpp"
#include "host/files/files.hpp"

namespace autopilot::host {

struct RecordedFile {
  bool is_link = false;
  std::string text;  // contents, or where the link points as an absolute path of the machine
};

// By absolute path.
using RecordedFiles = std::map<std::string, RecordedFile, std::less<>>;

inline constexpr std::size_t kMaxRecordedFiles = 100'000;

// What the doors read of this machine, and what a person wants to see beside it. Only names of a fixed list
// are opened: some files of sysfs change a device when they are read. A file that cannot be read is left out,
// as a file that is not there. exhausted: more than kMaxRecordedFiles.
[[nodiscard]] Result<RecordedFiles> record_files(const Files& files);

}  // namespace autopilot::host
