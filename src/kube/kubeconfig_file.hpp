// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/yaml.hpp"

namespace autopilot::kube {

struct KubeconfigFile {
  std::string path;
  YamlNode root;
  YamlProblems problems;
};

// Resolves a relative path of that file from its folder.
[[nodiscard]] std::string path_from(const KubeconfigFile& file, const std::string& path);

// Reads a map of such a file; ignores keys that are not read. An invalid value becomes a problem of the file
// and gives an empty value; problems never show values.
class KubeconfigMap {
 public:
  // node: null if the map is missing. line: where it should be. node and file must outlive the reader.
  KubeconfigMap(const YamlNode* node, int line, std::string what, KubeconfigFile& file);

  // True if the key has a value that is neither null nor empty.
  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] std::string word(std::string_view key);
  [[nodiscard]] bool flag(std::string_view key);
  [[nodiscard]] std::string path(std::string_view key);
  // Items of a list; empty if it is absent.
  [[nodiscard]] const std::vector<YamlNode>& list(std::string_view key);
  [[nodiscard]] std::vector<std::string> words(std::string_view key);
  [[nodiscard]] KubeconfigMap map(std::string_view key);
  [[nodiscard]] KubeconfigMap item(const YamlNode& node, std::string_view key);

  // At the line of the key, or of the map if the key is missing.
  void problem(std::string_view key, const std::string& text);

 private:
  [[nodiscard]] const YamlNode* find(std::string_view key) const;

  const YamlNode* node_;
  int line_;
  std::string what_;
  KubeconfigFile& file_;
};

// A named entry of one of the files.
struct KubeconfigEntry {
  KubeconfigFile* file = nullptr;
  const YamlNode* node = nullptr;  // null: the entry has no value
  int line = 0;
};
using KubeconfigEntries = std::map<std::string, KubeconfigEntry, std::less<>>;

// "clusters", "cluster": items {name, cluster} of the list `clusters` of all files, the first of each name.
// Duplicate names in one file are a problem. The entries live as long as the files do.
[[nodiscard]] KubeconfigEntries entries_of(std::vector<KubeconfigFile>& files, std::string_view list,
                                           std::string_view member);

}  // namespace autopilot::kube
