// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "host/files/fd.hpp"
#include "learning/adoption/version.hpp"

// The versions of what was learned, on disk: a folder beside history with one file for each version,
// "<id>.json". A version that is put to use, or no longer, gets a step; its file is replaced as a whole.
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
  // "learned" in the folder of the file of history.
  [[nodiscard]] static std::string folder_beside(const std::string& history_file);

  [[nodiscard]] const std::string& folder() const { return folder_; }
  // A folder that is missing has no versions. denied, unavailable: it cannot be read. exhausted:
  // kMostVersions.
  [[nodiscard]] Result<StoredVersions> read() const;
  // Makes the folder (0700) and waits until no other process changes it, until the returned handle closes.
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

}  // namespace autopilot::agent
