// SPDX-License-Identifier: Apache-2.0
#include "collect/flight_recorder/dump_file.hpp"

#include <cerrno>
#include <chrono>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "host/process/process_handle.hpp"

namespace autopilot::collect {
namespace {

DumpStamp stamp_of(const struct stat& status) {
  const Duration changed =
      std::chrono::seconds(status.st_mtim.tv_sec) + std::chrono::nanoseconds(status.st_mtim.tv_nsec);
  return {static_cast<std::uint64_t>(status.st_ino), status.st_size, WallTime(changed)};
}

Result<DumpFile> open_at(const host::ProcessHandle& handle, std::uint64_t started_ticks, std::string path) {
  auto file = handle.open_file(path);
  if (!file && file.error().code == Errc::denied)
    return fail(Errc::denied,
                file.error().what + ": the agent needs CAP_SYS_PTRACE to read dumps of the flight recorder");
  if (!file) return fail(std::move(file).error());
  struct stat status {};
  if (::fstat(file->get(), &status) != 0) return fail_errno(errno, path);
  const DumpStamp stamp = stamp_of(status);
  if (stamp.changed < host::wall_time_of_start(started_ticks))
    return fail(Errc::not_found, path + ": older than the process");
  const bool is_of_user = handle.file_user() == status.st_uid;
  return DumpFile{*std::move(file), std::move(path), stamp, is_of_user};
}

}  // namespace

std::vector<std::string> dump_prefixes_of(const RankEnvironment& environment) {
  if (!environment.dump_prefix.empty()) return {environment.dump_prefix};
  std::vector<std::string> prefixes;
  if (!environment.has_flight_recorder && environment.trigger_prefix.empty()) return prefixes;
  if (!environment.cache_folder.empty())
    prefixes.push_back(environment.cache_folder + "/torch/comm_lib_trace_rank_");
  prefixes.emplace_back("/tmp/nccl_trace_rank_");
  return prefixes;
}

Result<DumpFile> open_dump(const RankProcess& process, const std::vector<std::string>& prefixes) {
  const auto handle = TRY(host::ProcessHandle::open(process.pid, process.started_ticks));
  Result<DumpFile> dump = fail(Errc::not_found, "no path of a dump is known");
  for (const std::string& prefix : prefixes)
    for (const char* suffix : {"", ".json"}) {
      dump = open_at(handle, process.started_ticks, prefix + std::to_string(process.rank) + suffix);
      if (dump || dump.error().code != Errc::not_found) return dump;
    }
  return dump;
}

Result<std::string> read_dump(const DumpFile& dump, std::size_t limit) {
  const auto bytes = static_cast<std::size_t>(dump.stamp.bytes);
  if (bytes > limit)
    return fail(Errc::exhausted, dump.path + ": longer than " + std::to_string(limit) + " bytes");
  std::string text(bytes, '\0');
  std::size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t got = ::read(dump.file.get(), text.data() + filled, text.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, dump.path);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  text.resize(filled);
  return text;
}

}  // namespace autopilot::collect
