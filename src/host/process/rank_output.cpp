// SPDX-License-Identifier: Apache-2.0
#include "host/process/rank_output.hpp"

#include <cerrno>
#include <string>
#include <sys/stat.h>
#include <utility>

#include "host/files/files.hpp"
#include "host/process/processes.hpp"

namespace autopilot::host {
namespace {

std::string proc_folder_of(std::int64_t pid) {
  return "/proc/" + std::to_string(pid);
}

std::string_view name_of(mode_t mode) {
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return S_ISCHR(mode) ? "a terminal or another device" : "not a file";
}

}  // namespace

Result<LogFile> open_standard_output(std::int64_t pid) {
  const std::string path = proc_folder_of(pid) + "/fd/1";
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return fail_errno(errno, path);
  if (!S_ISREG(status.st_mode))
    return fail(Errc::unsupported, path + ": " + std::string(name_of(status.st_mode)));
  return LogFile::open(path);
}

bool may_run(std::int64_t pid, std::uint64_t started_ticks) {
  const auto row = Files{}.read(proc_folder_of(pid) + "/stat");
  if (!row) return row.error().code != Errc::not_found;
  const auto state = parse_task_state(*row);
  if (!state) return true;
  return state->started_ticks == started_ticks && state->state != 'Z' && state->state != 'X';
}

}  // namespace autopilot::host
