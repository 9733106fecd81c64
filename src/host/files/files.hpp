// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "host/files/fd.hpp"

namespace autopilot::host {

// Files of one machine: sysfs, procfs, configuration, under a root directory ("" for the running machine, a
// machine tree's root/ otherwise). Paths are absolute, as on the machine. A symbolic link never leads out of
// a root that is a tree, nor is it one. Thread-safe. Reading may block where the kernel blocks, and for ever
// where a device is sick or a file server is gone: call it on a lane that can be given up.
class Files {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{4} << 20;
  // Called before a file or a directory is read, with its path as on the machine: a machine tree makes
  // reading it fail or hang in this call. Thread-safe.
  using Gate = std::function<Status(std::string_view path)>;

  // Reads the files below `folder` in place of this process, because reading them may never return.
  // Thread-safe, with a deadline of its own.
  struct Reader {
    std::string folder;
    std::function<Result<std::string>(std::string_view path)> read;
  };

  // Where the paths begin.
  struct Root {
    std::string path;                  // empty: the running machine
    std::shared_ptr<const Fd> folder;  // nothing: it is opened at each use
  };

  // A root that is there already may be moved or replaced later: it stays this one.
  explicit Files(std::string root = "", Gate gate = {}, Reader reader = {});

  // The whole file, at most `limit` bytes; longer is Errc::exhausted.
  [[nodiscard]] Result<std::string> read(std::string_view path, std::size_t limit = kMaxBytes) const;
  // The same, but of a longer file its first `bytes` only.
  [[nodiscard]] Result<std::string> read_beginning(std::string_view path, std::size_t bytes) const;
  // The text without surrounding blanks; a NUL or other control character inside is Errc::malformed.
  [[nodiscard]] Result<std::string> read_word(std::string_view path) const;
  // A whole file that is one integer, decimal or 0x hexadecimal; anything else is Errc::malformed and names
  // the path.
  [[nodiscard]] Result<std::int64_t> read_integer(std::string_view path) const;
  // Names in a directory, sorted, without . and ..
  [[nodiscard]] Result<std::vector<std::string>> list(std::string_view directory) const;
  // The same for a directory below /sys. Empty: the kernel does not have it. unavailable: no sysfs.
  [[nodiscard]] Result<std::vector<std::string>> list_sysfs(std::string_view directory) const;
  [[nodiscard]] bool exists(std::string_view path) const;
  // The path with every symbolic link followed, as on the machine (without the root).
  [[nodiscard]] Result<std::string> resolve(std::string_view path) const;

  // A handle on what is there, links followed, that opens nothing: for objects other than files, such as a
  // socket.
  [[nodiscard]] Result<Fd> find(std::string_view path) const;

  // True when the root is a machine tree, not the running machine.
  [[nodiscard]] bool is_tree() const { return !root_.path.empty(); }
  [[nodiscard]] const std::string& root() const { return root_.path; }

 private:
  Root root_;
  Gate gate_;
  Reader reader_;
};

}  // namespace autopilot::host
