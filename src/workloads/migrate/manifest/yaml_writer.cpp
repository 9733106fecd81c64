// SPDX-License-Identifier: Apache-2.0
#include "workloads/migrate/manifest/yaml_writer.hpp"

#include <algorithm>
#include <array>

#include "core/parse.hpp"

namespace autopilot::workloads::migrate {
namespace {

bool is_plain_word(std::string_view text) {
  constexpr std::array<std::string_view, 9> other{"y",   "n",    "yes",   "no",  "on",
                                                  "off", "true", "false", "null"};
  if (text.empty()) return false;
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (!is_letter(text.front()) && text.front() != '/') return false;
  const bool has_safe_signs = std::all_of(text.begin(), text.end(), [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') ||
           std::string_view("_./-").find(c) != std::string_view::npos;
  });
  return has_safe_signs && std::find(other.begin(), other.end(), to_lower(text)) == other.end();
}

// A literal block keeps every sign but signs that readers of YAML replace or refuse.
bool fits_block(std::string_view text) {
  if (text.find('\n') == std::string_view::npos || trim(text).empty()) return false;
  if (text.find("\xe2\x80\xa8") != std::string_view::npos ||
      text.find("\xe2\x80\xa9") != std::string_view::npos ||
      text.find("\xc2\x85") != std::string_view::npos ||
      text.find("\xef\xbb\xbf") != std::string_view::npos ||
      text.find("\xef\xbf\xbe") != std::string_view::npos ||
      text.find("\xef\xbf\xbf") != std::string_view::npos)
    return false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f) return false;
    // U+0080 to U+009F
    if (byte == 0xc2 && at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) < 0xa0) return false;
  }
  return true;
}

void write_block_text(std::string_view text, std::size_t indent, std::string& out) {
  const std::string blanks(indent, ' ');
  const bool begins_with_blank = text.front() == ' ' || text.front() == '\n' || text.front() == '\t';
  out += " |";
  if (begins_with_blank) out += '2';
  if (!text.ends_with('\n'))
    out += '-';
  else if (text.ends_with("\n\n"))
    out += '+';
  out += '\n';
  if (text.ends_with('\n')) text.remove_suffix(1);
  for (const std::string_view line : split(text, '\n')) {
    if (!line.empty()) out.append(blanks).append(line);
    out += '\n';
  }
}

std::string word_text(const YamlNode& node) {
  if (node.kind == YamlNode::Kind::null) return "null";
  if (!node.quoted || is_plain_word(node.text)) return node.text;
  std::string text = to_yaml(node);
  text.pop_back();
  return text;
}

void write_node(const YamlNode& node, std::size_t indent, std::string& out);

void write_value(const YamlNode& node, std::size_t indent, std::string& out) {
  if (node.kind == YamlNode::Kind::map || node.kind == YamlNode::Kind::list) {
    if (node.members.empty() && node.items.empty()) {
      out += node.kind == YamlNode::Kind::map ? " {}\n" : " []\n";
      return;
    }
    out += '\n';
    write_node(node, indent + 2, out);
  } else if (node.quoted && fits_block(node.text)) {
    write_block_text(node.text, indent + 2, out);
  } else {
    out += ' ' + word_text(node) + '\n';
  }
}

void write_node(const YamlNode& node, std::size_t indent, std::string& out) {
  const std::string blanks(indent, ' ');
  for (const YamlMember& member : node.members) {
    YamlNode key = yaml_word(member.key);
    out += blanks + word_text(key) + ':';
    write_value(member.value, indent, out);
  }
  for (const YamlNode& item : node.items) {
    out += blanks + '-';
    if (item.kind == YamlNode::Kind::map && !item.members.empty()) {
      std::string inner;
      write_node(item, indent + 2, inner);
      // The first member is on the line of the hyphen.
      out += ' ' + inner.substr(indent + 2);
    } else {
      write_value(item, indent, out);
    }
  }
}

}  // namespace

std::string manifest_text(const YamlNode& node) {
  std::string out;
  write_node(node, 0, out);
  return out;
}

void put(YamlNode& map, std::string_view key, std::string_view value) {
  yaml_member(map, key) = yaml_word(value);
}
void put_integer(YamlNode& map, std::string_view key, long long value) {
  yaml_member(map, key) = yaml_integer(value);
}
void put_flag(YamlNode& map, std::string_view key, bool value) {
  yaml_member(map, key) = yaml_flag(value);
}
YamlNode& put_map(YamlNode& map, std::string_view key) {
  return yaml_member(map, key) = yaml_map();
}
YamlNode& put_list(YamlNode& map, std::string_view key) {
  return yaml_member(map, key) = yaml_list();
}
YamlNode& add_map(YamlNode& list) {
  return list.items.emplace_back(yaml_map());
}
void add_word(YamlNode& list, std::string_view value) {
  list.items.push_back(yaml_word(value));
}

}  // namespace autopilot::workloads::migrate
