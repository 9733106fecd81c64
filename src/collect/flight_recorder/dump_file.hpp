// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collect/rank_environment.hpp"
#include "collect/seen_jobs.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/files/fd.hpp"

// The files with dumps of the flight recorder. Path and content are the job's: links never lead out of the
// root of the process, only regular files are opened, without waiting. Calls block where the file system of
// the job blocks.
namespace autopilot::collect {

// A file at one time.
struct DumpStamp {
  std::uint64_t inode = 0;
  std::int64_t bytes = 0;
  WallTime changed{};
  friend bool operator==(const DumpStamp&, const DumpStamp&) = default;
};

struct DumpFile {
  host::Fd file;
  std::string path;  // as the process sees it
  DumpStamp stamp;
  // The file belongs to the user of the process. Otherwise the job may have named a file that its user cannot
  // read: its content is not handed on.
  bool is_of_user = false;
};

// Where the dumps are, each a path without the number of the rank: the job's, else PyTorch's own defaults,
// the newest first. Empty: the environment sets neither a path, nor a pipe, nor a buffer.
[[nodiscard]] std::vector<std::string> dump_prefixes_of(const RankEnvironment& environment);

// The dump of the rank: the first file of such a name, or with ".json". A file older than the process is of
// another attempt. not_found: there is none, or the process has ended. malformed: not a regular file. denied:
// the agent needs CAP_SYS_PTRACE.
[[nodiscard]] Result<DumpFile> open_dump(const RankProcess& process,
                                         const std::vector<std::string>& prefixes);

// All of it, as long as it was when it was opened. exhausted: longer than `limit` bytes.
[[nodiscard]] Result<std::string> read_dump(const DumpFile& dump, std::size_t limit);

}  // namespace autopilot::collect
