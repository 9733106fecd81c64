// SPDX-License-Identifier: Apache-2.0
#include "core/yaml_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace autopilot {
namespace {

constexpr std::size_t kFlowWidth = 100;

YamlNode scalar(std::string text, bool quoted) {
  YamlNode node;
  node.kind = YamlNode::Kind::scalar;
  node.text = std::move(text);
  node.quoted = quoted;
  return node;
}

bool is_plain(std::string_view text) {
  if (text.empty() || text == "null" || text == "~") return false;
  constexpr std::string_view safe = "_./+%@()=^-";
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  const char first = text.front();
  const bool starts_well =
      is_word(first) || first == '/' || first == '_' || (first == '-' && text.size() > 1 && is_word(text[1]));
  return starts_well && text.back() != ' ' && std::all_of(text.begin(), text.end(), [&](char c) {
           return is_word(c) || c == ' ' || safe.find(c) != std::string_view::npos;
         });
}

std::string quote(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : '\0');
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += digits[byte >> 4U];
      out += digits[byte & 15U];
    } else if (byte == 0xc2 && next >= 0x80 &&
               next < 0xa0) {  // U+0080 to U+009F, which terminals interpret as control characters
      out += "\\x";
      out += digits[next >> 4U];
      out += digits[next & 15U];
      ++i;
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string scalar_text(const YamlNode& node) {
  if (node.kind == YamlNode::Kind::null) return "null";
  return !node.quoted && is_plain(node.text) ? node.text : quote(node.text);
}

std::string key_text(const std::string& key) {
  return is_plain(key) ? key : quote(key);
}

bool is_scalar(const YamlNode& node) {
  return node.kind == YamlNode::Kind::scalar || node.kind == YamlNode::Kind::null;
}

bool holds_scalars_only(const YamlNode& node) {
  return std::all_of(node.items.begin(), node.items.end(), is_scalar) &&
         std::all_of(node.members.begin(), node.members.end(),
                     [](const YamlMember& member) { return is_scalar(member.value); });
}

std::string flow(const YamlNode& node) {
  if (is_scalar(node)) return scalar_text(node);
  const bool is_map = node.kind == YamlNode::Kind::map;
  std::string out(1, is_map ? '{' : '[');
  const auto separate = [&] {
    if (out.size() > 1) out += ", ";
  };
  for (const YamlMember& member : node.members) {
    separate();
    out += key_text(member.key) + ": " + flow(member.value);
  }
  for (const YamlNode& item : node.items) {
    separate();
    out += flow(item);
  }
  return out + (is_map ? '}' : ']');
}

// Writes a map or list as indented block lines.
void block(const YamlNode& node, std::size_t indent, std::string& out);

// Writes the value after "key:" or "-".
void value(const YamlNode& node, std::size_t indent, bool in_list, std::string& out) {
  if (is_scalar(node)) {
    out += ' ' + scalar_text(node) + '\n';
    return;
  }
  if (holds_scalars_only(node)) {
    const std::string text = flow(node);
    const bool is_empty = node.members.empty() && node.items.empty();
    if (in_list || is_empty || text.size() + indent < kFlowWidth) {
      out += ' ' + text + '\n';
      return;
    }
  }
  out += '\n';
  block(node, indent + 2, out);
}

void block(const YamlNode& node, std::size_t indent, std::string& out) {
  const std::string blanks(indent, ' ');
  for (const YamlMember& member : node.members) {
    out += blanks + key_text(member.key) + ':';
    value(member.value, indent, false, out);
  }
  for (const YamlNode& item : node.items) {
    out += blanks + '-';
    value(item, indent, true, out);
  }
}

}  // namespace

YamlNode yaml_word(std::string_view text) {
  return scalar(std::string(text), true);
}

YamlNode yaml_flag(bool value) {
  return scalar(value ? "true" : "false", false);
}

YamlNode yaml_number(double value) {
  std::array<char, 32> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return scalar(std::string(buffer.data(), error == std::errc{} ? end : buffer.data()), false);
}

YamlNode yaml_list() {
  YamlNode node;
  node.kind = YamlNode::Kind::list;
  return node;
}

YamlNode yaml_map() {
  YamlNode node;
  node.kind = YamlNode::Kind::map;
  return node;
}

YamlNode& yaml_member(YamlNode& map, std::string_view key) {
  if (map.kind == YamlNode::Kind::null) map = yaml_map();
  for (YamlMember& member : map.members)
    if (member.key == key) return member.value;
  return map.members.emplace_back(YamlMember{std::string(key), map.line, {}}).value;
}

void yaml_remove(YamlNode& map, std::string_view key) {
  std::erase_if(map.members, [&](const YamlMember& member) { return member.key == key; });
}

void yaml_merge(YamlNode& base, const YamlNode& over) {
  if (base.kind != YamlNode::Kind::map || over.kind != YamlNode::Kind::map) {
    base = over;
    return;
  }
  for (const YamlMember& member : over.members) {
    if (member.value.kind == YamlNode::Kind::null)
      yaml_remove(base, member.key);
    else
      yaml_merge(yaml_member(base, member.key), member.value);
  }
}

std::string to_yaml(const YamlNode& node) {
  if (is_scalar(node)) return scalar_text(node) + '\n';
  if (node.members.empty() && node.items.empty()) return flow(node) + '\n';
  std::string out;
  block(node, 0, out);
  return out;
}

}  // namespace autopilot
