// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "machine/machine.hpp"

namespace autopilot::simulator {

// What a directory says that is not the machine itself.
struct TreeSource {
  Machine machine;               // a base is already expanded
  YamlNode faults;               // the list under `faults:`, or null
  std::vector<Duration> rounds;  // of a golden case; empty: none given
  std::string file;              // its machine.yaml, for messages
};

// Reads a tree or a source with `base:`. not_found: no machine.yaml; malformed names file and line;
// exhausted: more or larger files than a machine has.
[[nodiscard]] Result<TreeSource> read_tree(const std::string& directory);

// A file of a tree beside its root/ (host/files/tree_file.hpp), of at most `limit` bytes.
[[nodiscard]] Result<std::string> read_text(const std::string& path, std::size_t limit);
// Replaces the file in one step.
[[nodiscard]] Status write_text(const std::string& path, const std::string& text);

// Writes a machine to its directory, again and again: each time only what changed, and each file in one step,
// so that a reader never sees half of one.
class TreeWriter {
 public:
  // A directory that exists must be empty or hold a tree that this writer may replace: `known` is what it
  // holds.
  explicit TreeWriter(std::string directory) : directory_(std::move(directory)) {}
  TreeWriter(std::string directory, const Machine& known);

  [[nodiscard]] Status write(const Machine& machine);
  [[nodiscard]] const std::string& directory() const { return directory_; }

 private:
  [[nodiscard]] Status make_directory(const std::string& path);
  [[nodiscard]] Status put(const std::string& path, const FileTree::Entry& entry);
  [[nodiscard]] Status drop(const std::string& path);

  std::string directory_;
  bool is_new_ = true;          // nobody reads it yet: no need for replacing in one step
  FileTree::Entries written_;   // by path below directory_
  std::set<std::string> made_;  // directories that exist
};

}  // namespace autopilot::simulator
