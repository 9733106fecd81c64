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

// A complete machine in one text, because reading thousands of small files is slow.
[[nodiscard]] std::string archive_text(const Machine& machine);
// malformed: names `file`.
[[nodiscard]] Result<Machine> parse_archive(std::string_view text, const std::string& file);

// Content of a directory beside the machine itself.
struct TreeSource {
  Machine machine;               // with its base applied
  YamlNode faults;               // the list under `faults:`, or null
  std::vector<Duration> rounds;  // of a golden case; empty: not set
  std::string file;              // its machine.yaml, for messages
};

// Reads a tree, or a source with `base:`. not_found: no machine.yaml; malformed: names file and line;
// exhausted: more or larger files than a machine has.
[[nodiscard]] Result<TreeSource> read_tree(const std::string& directory);

// A file of a tree beside its root/ (host/files/tree_file.hpp), of at most `limit` bytes.
[[nodiscard]] Result<std::string> read_text(const std::string& path, std::size_t limit);
// Replaces the file atomically.
[[nodiscard]] Status write_text(const std::string& path, const std::string& text);

// Writes a machine to its directory repeatedly: only the changed files, each atomically, so that a reader
// never sees an incomplete file.
class TreeWriter {
 public:
  // An existing directory must be empty or contain a tree that this writer can replace: `known` is its
  // content.
  explicit TreeWriter(std::string directory) : directory_(std::move(directory)) {}
  TreeWriter(std::string directory, const Machine& known);

  [[nodiscard]] Status write(const Machine& machine);
  [[nodiscard]] const std::string& directory() const { return directory_; }

 private:
  [[nodiscard]] Status make_directory(const std::string& path);
  [[nodiscard]] Status put(const std::string& path, const FileTree::Entry& entry);
  [[nodiscard]] Status drop(const std::string& path);

  std::string directory_;
  bool is_new_ = true;          // the directory has no readers yet, so files need not be replaced atomically
  FileTree::Entries written_;   // by path below directory_
  std::set<std::string> made_;  // directories that exist
};

}  // namespace autopilot::simulator
