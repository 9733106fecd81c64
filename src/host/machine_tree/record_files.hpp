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
  std::string text;           // contents, or the target of the link as an absolute path of the machine
  bool is_folder = false;     // a folder that could not be listed
  std::optional<Errc> error;  // why it could not be read: denied, timed_out, unsupported or unavailable
};

// By absolute path.
using RecordedFiles = std::map<std::string, RecordedFile, std::less<>>;

inline constexpr std::size_t kMaxRecordedFiles = 100'000;

// The files that the backends read on this machine, and files that help a person. Only files of a fixed list
// are opened, because reading some files of sysfs changes a device. An unreadable file is recorded with its
// error: without it the file would count as missing, and a check that fails would pass in the recording.
// exhausted: more than kMaxRecordedFiles.
[[nodiscard]] Result<RecordedFiles> record_files(const Files& files);

}  // namespace autopilot::host
