// SPDX-License-Identifier: Apache-2.0
#include "machine/file_tree.hpp"

#include "core/parse.hpp"

namespace autopilot::simulator {
namespace {

constexpr int kMaxLinks = 16;

std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> parts;
  for (const std::string_view part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (!parts.empty()) parts.pop_back();
    } else {
      parts.emplace_back(part);
    }
  }
  return parts;
}

std::string join(const std::vector<std::string>& parts, std::size_t count) {
  std::string path;
  for (std::size_t i = 0; i < count; ++i)
    path += '/' + parts[i];
  return path;
}

std::string relative(const std::string& from, const std::string& to) {
  const auto here = parts_of(from);
  const auto there = parts_of(to);
  std::size_t common = 0;
  while (common + 1 < here.size() && common < there.size() && here[common] == there[common])
    ++common;
  std::string path;
  for (std::size_t i = common; i + 1 < here.size(); ++i)
    path += "../";
  for (std::size_t i = common; i < there.size(); ++i)
    path += (i > common ? "/" : "") + there[i];
  return path;
}

bool is_below(std::string_view path, std::string_view directory) {
  return path.size() > directory.size() && path.starts_with(directory) && path[directory.size()] == '/';
}

}  // namespace

void FileTree::link(const std::string& path, const std::string& target) {
  entries_[path] = {Kind::link, relative(path, target)};
}

void FileTree::remove_below(const std::string& path) {
  std::erase_if(entries_,
                [&](const auto& entry) { return entry.first == path || is_below(entry.first, path); });
}

void FileTree::remove(const std::string& path) {
  const std::string real = resolve(path).value_or(path);
  std::vector<std::string> links;
  for (const auto& entry : entries_) {
    if (entry.second.kind != Kind::link) continue;
    const auto target = resolve(entry.first);
    if (target && (*target == real || is_below(*target, real))) links.push_back(entry.first);
  }
  for (const std::string& link : links)
    entries_.erase(link);
  remove_below(real);
  remove_below(path);
}

const std::string* FileTree::text(std::string_view path) const {
  const auto real = resolve(path);
  if (!real) return nullptr;
  const auto found = entries_.find(*real);
  return found != entries_.end() && found->second.kind == Kind::text ? &found->second.text : nullptr;
}

std::optional<std::string> FileTree::value(std::string_view path) const {
  const std::string* found = text(path);
  if (found == nullptr) return std::nullopt;
  return std::string(trim(*found));
}

std::optional<std::int64_t> FileTree::number(std::string_view path) const {
  const auto word = value(path);
  return word ? parse_number<std::int64_t>(*word) : std::nullopt;
}

bool FileTree::is_directory(std::string_view path) const {
  const auto found = entries_.find(path);
  if (found != entries_.end()) return found->second.kind == Kind::directory;
  const auto below = entries_.upper_bound(std::string(path) + "/");
  return path.empty() || (below != entries_.end() && is_below(below->first, path));
}

std::optional<std::string> FileTree::resolve(std::string_view path) const {
  std::vector<std::string> parts = parts_of(path);
  int links = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string here = join(parts, i + 1);
    const auto found = entries_.find(here);
    if (found == entries_.end() || found->second.kind != Kind::link) continue;
    if (++links > kMaxLinks) return std::nullopt;
    const std::string& target = found->second.text;
    std::string next = target.starts_with('/') ? target : join(parts, i) + '/' + target;
    for (std::size_t rest = i + 1; rest < parts.size(); ++rest)
      next += '/' + parts[rest];
    parts = parts_of(next);
    i = static_cast<std::size_t>(-1);
  }
  const std::string real = join(parts, parts.size());
  if (entries_.contains(real) || is_directory(real)) return real;
  return std::nullopt;
}

std::vector<std::string> FileTree::list(std::string_view directory) const {
  std::vector<std::string> names;
  const auto real = resolve(directory);
  if (!real) return names;
  for (auto entry = entries_.upper_bound(*real + "/");
       entry != entries_.end() && is_below(entry->first, *real); ++entry) {
    const std::string_view rest = std::string_view(entry->first).substr(real->size() + 1);
    const std::string name(rest.substr(0, rest.find('/')));
    if (names.empty() || names.back() != name) names.push_back(name);
  }
  return names;
}

}  // namespace autopilot::simulator
