// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "core/result.hpp"
#include "host/files/fd.hpp"

// The one door to what lies beside root/ in the directory of a machine tree: machine.yaml, nvml.yaml,
// kmsg.jsonl and the like. The author of the tree is not trusted: none of them may be a symbolic link, which
// could lead out of it, and of a file no more is read than it may have. The directory itself is named by the
// operator and may be a link. Paths are <directory>/<name>; errors begin with the path. Thread-safe.
namespace autopilot::host {

// A handle that opens nothing, for objects other than files, such as a socket. not_found; malformed: a
// symbolic link.
[[nodiscard]] Result<Fd> find_in_tree(const std::string& path);
// A regular file, to be read. malformed: a symbolic link, a device, a pipe or a folder.
[[nodiscard]] Result<Fd> open_tree_file(const std::string& path);
// All of a file that open_tree_file opened, or of the file with that path; longer than `limit` bytes is
// Errc::exhausted.
[[nodiscard]] Result<std::string> read_tree_file(const Fd& file, const std::string& path, std::size_t limit);
[[nodiscard]] Result<std::string> read_tree_file(const std::string& path, std::size_t limit);

}  // namespace autopilot::host
