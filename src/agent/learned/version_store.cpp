// SPDX-License-Identifier: Apache-2.0
#include "agent/learned/version_store.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <set>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "api/learned_versions.hpp"
#include "core/database_place.hpp"
#include "host/files/files.hpp"
#include "host/files/replace_file.hpp"

namespace autopilot::agent {
namespace {

constexpr std::string_view kVersionSuffix = ".json";

Result<learning::Version> read_version_file(const std::string& path) {
  const std::string text = TRY(host::Files().read(path, VersionStore::kMostBytes));
  auto version = TRY(api::parse_version(text));
  if (std::filesystem::path(path).stem() != version.proposal.id)
    return fail(Errc::malformed, "it holds version " + version.proposal.id + "; it was renamed");
  return version;
}

}  // namespace

std::string VersionStore::folder_beside(const std::string& history, const std::string& state_dir) {
  const auto folder = is_postgres(history) ? std::filesystem::absolute(state_dir)
                                           : std::filesystem::absolute(history).parent_path();
  return (folder / "learned").string();
}

Result<StoredVersions> VersionStore::read() const {
  return VersionReader(folder_).read();
}

Result<host::Fd> VersionStore::lock() const {
  const auto folder = std::filesystem::absolute(folder_ + "/.").parent_path();
  std::error_code error;
  std::filesystem::create_directories(folder.parent_path(), error);
  if (error) return fail_errno(error.value(), folder_);
  if (::mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) return fail_errno(errno, folder_);
  const std::string path = folder_ + "/lock";
  host::Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd || ::flock(fd.get(), LOCK_EX) != 0) return fail_errno(errno, path);
  return fd;
}

Status VersionStore::put(const learning::Version& version) const {
  const std::string path = path_of(version.proposal.id);
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored))
    if (const auto held = read_version_file(path); !held)
      return fail(Errc::conflict, path + ": " + held.error().what +
                                      "; it is not replaced. Restore it from a backup, or remove it");
  return host::replace_file(path, api::format_version(version));
}

Status VersionStore::remove_proposed(const learning::Version& version) const {
  if (version.state()) return fail(Errc::conflict, "version " + version.proposal.id + " has been adopted");
  const std::string path = path_of(version.proposal.id);
  if (std::remove(path.c_str()) != 0 && errno != ENOENT) return fail_errno(errno, path);
  return {};
}

VersionReader::VersionReader(std::string folder) : folder_(std::move(folder)) {}

bool VersionReader::is_same_file(const File& known, const struct stat& info) {
  return known.changed.tv_sec == info.st_ctim.tv_sec && known.changed.tv_nsec == info.st_ctim.tv_nsec &&
         known.inode == info.st_ino && known.bytes == info.st_size;
}

bool VersionReader::was_read(const File& known) {
  return known.version || known.version.error().code == Errc::malformed;
}

// A file that is replaced, or written in place, has another time of change, inode or size. A file that could
// not be read is tried again.
const VersionReader::File& VersionReader::look_at(const std::string& path) {
  struct stat info {};
  const bool is_there = ::stat(path.c_str(), &info) == 0;
  const auto known = files_.find(path);
  if (is_there && known != files_.end() && is_same_file(known->second, info) && was_read(known->second))
    return known->second;
  return files_.insert_or_assign(path, File{info.st_ctim, info.st_ino, info.st_size, read_version_file(path)})
      .first->second;
}

Result<StoredVersions> VersionReader::read() {
  StoredVersions stored;
  const auto names = host::Files().list(folder_);
  if (!names && names.error().code == Errc::not_found) return stored;
  if (!names) return fail(names.error());
  std::set<std::string> seen;
  for (const std::string& name : *names) {
    if (!name.ends_with(kVersionSuffix)) continue;
    if (seen.size() >= VersionStore::kMostVersions)
      return fail(Errc::exhausted, folder_ + " has more than " + std::to_string(VersionStore::kMostVersions) +
                                       " versions; move old ones away");
    const std::string path = *seen.insert(folder_ + "/" + name).first;
    const File& file = look_at(path);
    if (file.version)
      stored.versions.push_back(*file.version);
    else
      stored.problems.push_back(path + ": " + file.version.error().what +
                                "; it is not used. Restore it from a backup, or remove it");
  }
  std::erase_if(files_, [&seen](const auto& file) { return !seen.contains(file.first); });
  return stored;
}

}  // namespace autopilot::agent
