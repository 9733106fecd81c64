// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "host/files/fd.hpp"

namespace autopilot::host {

// A folder that only the user of this process may look into and write, for files that hold what others may
// not read: folders have mode 0700, files 0600. Nothing is written through a symbolic link and nothing that
// is there is overwritten, whichever user made it and whenever. Not thread-safe. Paths are absolute within
// the folder:
// "/root/proc/uptime".
class OwnFolder {
 public:
  // Made, or an empty one of this user, which is closed to others before its content is read. denied: it
  // belongs to another user. conflict: it is not empty, a symbolic link, or no folder.
  [[nodiscard]] static Result<OwnFolder> create(const std::string& path);

  // With the folders above it. conflict: something is there.
  [[nodiscard]] Status write(std::string_view path, std::string_view text);
  [[nodiscard]] Status link(std::string_view path, const std::string& target);
  [[nodiscard]] Status make_folder(std::string_view path);
  // Removes all that is in it.
  void clear();

 private:
  OwnFolder(std::string path, Fd folder) : path_(std::move(path)), folder_(std::move(folder)) {}

  [[nodiscard]] std::string shown(std::string_view path) const { return path_ + std::string(path); }
  // Of a folder that is made where it is missing; "" is the whole.
  [[nodiscard]] Result<Fd> folder(std::string_view path);
  // The folder above.
  [[nodiscard]] Result<Fd> parent(std::string_view path) { return folder(path.substr(0, path.rfind('/'))); }

  std::string path_;
  Fd folder_;
};

// `autopilot helper share_folder PATH`: gives a folder that belongs to the user of this process to its group
// as well, so that an agent of that group can keep its state there; everybody else is kept out. Needs no
// capability: an owner may do that. Returns the exit code; the reason of a failure is on standard error.
[[nodiscard]] int run_share_folder(const std::vector<std::string>& arguments);

}  // namespace autopilot::host
