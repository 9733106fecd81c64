// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <ctime>
#include <map>
#include <string>
#include <sys/stat.h>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "host/files/fd.hpp"
#include "learning/adoption/version.hpp"

// The versions of what was learned, on disk: a folder with one file for each version, "<id>.json". A version
// that is put to use, or no longer, gets a step; its file is replaced as a whole.
namespace autopilot::agent {

struct StoredVersions {
  std::vector<learning::Version> versions;  // by id
  // One for each file that cannot be used, with its path. Such a file is left as it is: the version before it
  // stays in use.
  std::vector<std::string> problems;
};

// Every call can block on the disk. Not thread-safe.
class VersionStore {
 public:
  static constexpr std::size_t kMostVersions = 10'000;
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;  // of a file

  explicit VersionStore(std::string folder) : folder_(std::move(folder)) {}
  // "learned" in the folder of the file of history; for a history in PostgreSQL, in the agent's state folder.
  [[nodiscard]] static std::string folder_beside(const std::string& history, const std::string& state_dir);

  [[nodiscard]] const std::string& folder() const { return folder_; }
  // A folder that is missing has no versions. denied, unavailable: it cannot be read. exhausted:
  // kMostVersions.
  [[nodiscard]] Result<StoredVersions> read() const;
  // Makes the folder (0700) and waits until no other process changes it, until the returned handle closes.
  // Follows links in the path: root first becomes the user of the folder (host::become_owner_of).
  [[nodiscard]] Result<host::Fd> lock() const;
  // Durable when it returns. conflict: there is a file of this id that cannot be used. exhausted: the disk is
  // full.
  [[nodiscard]] Status put(const learning::Version& version) const;
  // Removes a version that was only proposed; without effect if it is missing.
  [[nodiscard]] Status remove_proposed(const learning::Version& version) const;

 private:
  [[nodiscard]] std::string path_of(const std::string& id) const { return folder_ + "/" + id + ".json"; }

  std::string folder_;
};

// Reads the versions of a folder again and again; a file that has not changed is not read. Not thread-safe.
class VersionReader {
 public:
  explicit VersionReader(std::string folder);
  // As VersionStore::read.
  [[nodiscard]] Result<StoredVersions> read();

 private:
  struct File {
    timespec changed;
    ino_t inode;
    off_t bytes;
    Result<learning::Version> version;
  };
  static bool is_same_file(const File& known, const struct stat& info);
  static bool was_read(const File& known);
  const File& look_at(const std::string& path);

  std::string folder_;
  std::map<std::string, File> files_;  // by path, as they were read last
};

}  // namespace autopilot::agent
