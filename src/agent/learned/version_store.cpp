// SPDX-License-Identifier: Apache-2.0
#include "agent/learned/version_store.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "api/learned_versions.hpp"
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

// root makes the folder for the user of the agent, to whom the folder above belongs.
void give_to_owner_above(const std::string& folder) {
  struct stat info {};
  const std::string above = std::filesystem::path(folder).parent_path();
  if (::stat(above.c_str(), &info) == 0 && info.st_uid != ::geteuid())
    static_cast<void>(::chown(folder.c_str(), info.st_uid, info.st_gid));
}

}  // namespace

std::string VersionStore::folder_beside(const std::string& history_file) {
  return (std::filesystem::absolute(history_file).parent_path() / "learned").string();
}

Result<StoredVersions> VersionStore::read() const {
  StoredVersions stored;
  const auto names = host::Files().list(folder_);
  if (!names && names.error().code == Errc::not_found) return stored;
  if (!names) return fail(names.error());
  for (const std::string& name : *names) {
    if (!name.ends_with(kVersionSuffix)) continue;
    if (stored.versions.size() + stored.problems.size() >= kMostVersions)
      return fail(Errc::exhausted, folder_ + " has more than " + std::to_string(kMostVersions) +
                                       " versions; move old ones away");
    const std::string path = folder_ + "/" + name;
    auto version = read_version_file(path);
    if (version)
      stored.versions.push_back(std::move(*version));
    else
      stored.problems.push_back(path + ": " + version.error().what +
                                "; it is not used. Restore it from a backup, or remove it");
  }
  return stored;
}

Result<host::Fd> VersionStore::lock() const {
  std::error_code error;
  const bool is_new = std::filesystem::create_directories(folder_, error);
  if (error) return fail_errno(error.value(), folder_);
  if (is_new) std::filesystem::permissions(folder_, std::filesystem::perms::owner_all, error);
  if (error) return fail_errno(error.value(), folder_);
  if (is_new) give_to_owner_above(folder_);
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

}  // namespace autopilot::agent
