// SPDX-License-Identifier: Apache-2.0
#include "api/v1.hpp"

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <map>
#include <string>

#include "core/parse.hpp"
#include "core/yaml_text.hpp"

namespace autopilot::api {

// Generated from the files that CMakeLists.txt names.
const std::map<std::string, std::string>& embedded_documents();

std::string_view openapi_yaml() {
  return embedded_documents().at("openapi.yaml");
}

namespace json = boost::json;

namespace {

// True for a string that every YAML reader accepts as a string without quotes: it begins with a letter and is
// not a YAML 1.1 spelling of true, false or null.
bool is_plain_word(std::string_view text) {
  static constexpr std::array<std::string_view, 9> kSpecial = {"y",   "n",    "yes",   "no",  "on",
                                                               "off", "true", "false", "null"};
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto may_follow = [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '/' || c == '-';
  };
  return !text.empty() && is_letter(text.front()) && std::ranges::all_of(text, may_follow) &&
         std::ranges::find(kSpecial, to_lower(text)) == kSpecial.end();
}

YamlNode to_node(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return {};
    case json::kind::bool_:
      return yaml_flag(value.get_bool());
    case json::kind::int64:
      return yaml_integer(value.get_int64());
    case json::kind::uint64:
      return yaml_integer(value.get_uint64());
    case json::kind::double_:
      return yaml_number(value.get_double());
    case json::kind::string: {
      YamlNode node = yaml_word({value.get_string().data(), value.get_string().size()});
      node.quoted = !is_plain_word(node.text);
      return node;
    }
    case json::kind::array: {
      YamlNode node = yaml_list();
      for (const auto& item : value.get_array())
        node.items.push_back(to_node(item));
      return node;
    }
    case json::kind::object:
      break;
  }
  YamlNode node = yaml_map();
  for (const auto& member : value.get_object())
    node.members.push_back(
        {std::string(member.key().data(), member.key().size()), 1, to_node(member.value())});
  return node;
}

}  // namespace

Result<std::string> json_to_yaml(std::string_view text) {
  json::parse_options options;
  options.max_depth = kMaxDepth;
  boost::system::error_code error;
  const auto value = json::parse(json::string_view(text.data(), text.size()), error, {}, options);
  if (error) return fail(Errc::malformed, "not JSON: " + error.message());
  return to_yaml(to_node(value));
}

}  // namespace autopilot::api
