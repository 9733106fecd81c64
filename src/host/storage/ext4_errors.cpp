// SPDX-License-Identifier: Apache-2.0
#include "host/storage/ext4_errors.hpp"

#include <chrono>

#include "core/parse.hpp"
#include "host/storage/block.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kExt4 = "/sys/fs/ext4";

// Seconds since 1970; 0 where there was no error.
std::optional<WallTime> read_time(const Files& files, const std::string& path) {
  const auto seconds = files.read_integer(path);
  constexpr std::int64_t most = 1'000'000'000'000;  // beyond it no clock was ever set
  if (!seconds || *seconds <= 0 || *seconds > most) return std::nullopt;
  return WallTime{std::chrono::seconds{*seconds}};
}

Result<std::uint64_t> read_count(const Files& files, const std::string& path) {
  const std::string word = TRY(files.read_word(path));
  const auto count = parse_number<std::uint64_t>(word);
  if (!count) return fail(Errc::malformed, path + ": no number");
  return *count;
}

}  // namespace

Result<std::vector<Ext4Errors>> scan_ext4_errors(const Files& files) {
  const auto names = files.list(kExt4);
  if (!names) {
    if (names.error().code == Errc::not_found && files.exists("/sys")) return std::vector<Ext4Errors>{};
    return fail(names.error().code == Errc::not_found ? Errc::unavailable : names.error().code,
                names.error().what);
  }
  std::vector<Ext4Errors> filesystems;
  for (const std::string& name : *names) {
    const std::string path = std::string(kExt4) + "/" + name;
    const auto count = read_count(files, path + "/errors_count");
    // "features" is what the driver can; a filesystem may be unmounted since the list was read.
    if (!count && count.error().code == Errc::not_found) continue;
    Ext4Errors errors;
    errors.device = name;
    errors.device_number = device_number(files, name);
    if (!count) errors.problem = count.error();
    errors.count = count.value_or(0);
    errors.first = read_time(files, path + "/first_error_time");
    errors.last = read_time(files, path + "/last_error_time");
    errors.last_function = files.read_word(path + "/last_error_func").value_or("");
    filesystems.push_back(std::move(errors));
  }
  return filesystems;
}

}  // namespace autopilot::host
