// SPDX-License-Identifier: Apache-2.0
#include "kube/kubeconfig_file.hpp"

#include <utility>

namespace autopilot::kube {

std::string path_from(const KubeconfigFile& file, const std::string& path) {
  if (path.starts_with('/')) return path;
  const auto slash = file.path.rfind('/');
  return slash == std::string::npos ? path : file.path.substr(0, slash + 1) + path;
}

KubeconfigMap::KubeconfigMap(const YamlNode* node, int line, std::string what, KubeconfigFile& file)
    : node_(node), line_(line), what_(std::move(what)), file_(file) {
  if (node_ == nullptr || node_->kind == YamlNode::Kind::map) return;
  if (node_->kind != YamlNode::Kind::null) file_.problems.add(node_->line, what_ + ": expected a map");
  node_ = nullptr;
}

const YamlNode* KubeconfigMap::find(std::string_view key) const {
  const YamlNode* node = node_ == nullptr ? nullptr : node_->find(key);
  return node == nullptr || node->kind == YamlNode::Kind::null ? nullptr : node;
}

bool KubeconfigMap::has(std::string_view key) const {
  const YamlNode* node = find(key);
  return node != nullptr && !(node->text.empty() && node->items.empty() && node->members.empty());
}

void KubeconfigMap::problem(std::string_view key, const std::string& text) {
  int line = line_;
  if (node_ != nullptr)
    for (const YamlMember& member : node_->members)
      if (member.key == key) line = member.line;
  file_.problems.add(line, what_ + ": `" + std::string(key) + "`: " + text);
}

std::string KubeconfigMap::word(std::string_view key) {
  const YamlNode* node = find(key);
  if (node == nullptr) return {};
  if (node->kind != YamlNode::Kind::scalar) {
    problem(key, "expected a string");
    return {};
  }
  // The text after the NUL would be lost where the value is used.
  if (node->text.find('\0') != std::string::npos) {
    problem(key, "contains a NUL character");
    return {};
  }
  return node->text;
}

bool KubeconfigMap::flag(std::string_view key) {
  const YamlNode* node = find(key);
  if (node == nullptr) return false;
  const bool is_plain = node->kind == YamlNode::Kind::scalar && !node->quoted;
  if (is_plain && node->text == "true") return true;
  if (!is_plain || node->text != "false") problem(key, "expected true or false");
  return false;
}

std::string KubeconfigMap::path(std::string_view key) {
  const std::string path = word(key);
  return path.empty() ? path : path_from(file_, path);
}

const std::vector<YamlNode>& KubeconfigMap::list(std::string_view key) {
  static const std::vector<YamlNode> none;
  const YamlNode* node = find(key);
  if (node == nullptr) return none;
  if (node->kind != YamlNode::Kind::list) problem(key, "expected a list");
  return node->items;
}

std::vector<std::string> KubeconfigMap::words(std::string_view key) {
  std::vector<std::string> words;
  for (const YamlNode& item : list(key)) {
    if (item.kind == YamlNode::Kind::map || item.kind == YamlNode::Kind::list ||
        item.text.find('\0') != std::string::npos)
      problem(key, "expected a list of strings");
    words.push_back(item.kind == YamlNode::Kind::scalar ? item.text : std::string());
  }
  return words;
}

KubeconfigMap KubeconfigMap::map(std::string_view key) {
  const YamlNode* node = find(key);
  return {node, node == nullptr ? line_ : node->line, what_ + ": `" + std::string(key) + '`', file_};
}

KubeconfigMap KubeconfigMap::item(const YamlNode& node, std::string_view key) {
  return {&node, node.line, what_ + ": `" + std::string(key) + '`', file_};
}

KubeconfigEntries entries_of(std::vector<KubeconfigFile>& files, std::string_view list,
                             std::string_view member) {
  KubeconfigEntries entries;
  for (KubeconfigFile& file : files) {
    KubeconfigMap top(&file.root, 1, "kubeconfig", file);
    for (const YamlNode& item : top.list(list)) {
      KubeconfigMap named = top.item(item, list);
      if (item.kind != YamlNode::Kind::map) continue;
      const std::string name = named.word("name");
      if (name.empty()) {
        named.problem("name", "missing");
        continue;
      }
      const auto [at, is_new] =
          entries.try_emplace(name, KubeconfigEntry{&file, item.find(member), item.line});
      if (!is_new && at->second.file == &file) named.problem("name", "duplicate name `" + name + "`");
    }
  }
  return entries;
}

}  // namespace autopilot::kube
