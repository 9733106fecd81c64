// SPDX-License-Identifier: Apache-2.0
#include "config/alert_settings.hpp"

#include <optional>
#include <set>
#include <utility>

#include "config/forms.hpp"
#include "core/word_table.hpp"

namespace autopilot::config {
namespace {

constexpr WordTable<AlertFormat, 3> kFormats{{{AlertFormat::alertmanager, "alertmanager"},
                                              {AlertFormat::json, "json"},
                                              {AlertFormat::slack, "slack"}}};
constexpr WordTable<AlertLevel, 3> kLevels{
    {{AlertLevel::info, "info"}, {AlertLevel::ticket, "ticket"}, {AlertLevel::page, "page"}}};

std::optional<AlertFormat> parse_format(std::string_view text) {
  return value_of(kFormats, text);
}

std::optional<AlertLevel> parse_level(std::string_view text) {
  return value_of(kLevels, text);
}

void read_file_name(YamlMap& map, std::string_view key, const std::string& where, std::string& into) {
  const auto path = map.word(key);
  if (!path) return;
  if (is_file_or_empty(*path))
    into = *path;
  else
    map.problem(map.line_of(key), where + '.' + std::string(key) + "`: expected an absolute path, found `" +
                                      path->substr(0, 80) + '`');
}

// Parts that must not be combined, and parts that are missing.
void check_receiver(YamlMap& map, const std::string& where, const AlertReceiver& receiver) {
  if (receiver.url.empty() == receiver.url_file.empty())
    map.problem(map.line(), where + "`: expected `url` or `url_file`, one of both");
  if (!receiver.secret_file.empty() && receiver.format != AlertFormat::json)
    map.problem(map.line_of("secret_file"),
                where + ".secret_file`: only the format json is signed; remove it, or set `format: json`");
}

AlertReceiver read_receiver(YamlMap& map, std::set<std::string>& names) {
  AlertReceiver receiver;
  receiver.name = map.required_word("name");
  const std::string where = "`alerts." + receiver.name.substr(0, 80);
  if (!receiver.name.empty() && (!is_name(receiver.name) || receiver.name.size() > 63))
    map.problem(map.line_of("name"),
                where + "`: expected a name of at most 63 letters, digits, '-', '.' and '_'");
  if (!names.insert(receiver.name).second)
    map.problem(map.line_of("name"), where + "`: another receiver has the same name");
  if (const auto url = map.word("url")) {
    // The URL is not repeated: it may contain a token.
    if (is_http_url(*url))
      receiver.url = *url;
    else
      map.problem(map.line_of("url"), where + ".url`: expected an URL that begins with http:// or https://");
  }
  read_file_name(map, "url_file", where, receiver.url_file);
  read_file_name(map, "secret_file", where, receiver.secret_file);
  read_file_name(map, "authorities", where, receiver.authorities);
  if (const auto format = map.choice("format", &parse_format, {"alertmanager", "json", "slack"}))
    receiver.format = *format;
  if (const auto least = map.choice("min_severity", &parse_level, {"info", "ticket", "page"}))
    receiver.least = *least;
  check_receiver(map, where, receiver);
  return receiver;
}

}  // namespace

std::string_view to_string(AlertFormat format) {
  return word_of(kFormats, format);
}

std::string_view to_string(AlertLevel level) {
  return word_of(kLevels, level);
}

void read_alert_receivers(YamlMap& map, const SettingHead& setting, std::vector<AlertReceiver>& into) {
  const YamlNode* list = map.list(setting.key());
  if (list == nullptr) return;
  into.clear();
  if (list->items.size() > kMaxAlertReceivers)
    return refuse(map, setting, "at most " + std::to_string(kMaxAlertReceivers) + " receivers",
                  std::to_string(list->items.size()));
  std::set<std::string> names;
  for (const YamlNode& item : list->items) {
    if (item.kind != YamlNode::Kind::map) {
      map.problem(item.line, "`alerts`: expected a list of receivers, each a map with `name` and `url`");
      continue;
    }
    YamlMap receiver = map.nested(item, "alerts");
    into.push_back(read_receiver(receiver, names));
  }
}

void show_alert_receivers(const std::vector<AlertReceiver>& receivers, const SettingHead& setting,
                          Shown& shown) {
  if (receivers.empty()) shown[std::string(setting.name)] = "[]";
  for (const AlertReceiver& receiver : receivers) {
    std::string text(to_string(receiver.format));
    text += receiver.url_file.empty() ? " url " + receiver.url : " url_file " + receiver.url_file;
    if (!receiver.secret_file.empty()) text += " secret_file " + receiver.secret_file;
    if (!receiver.authorities.empty()) text += " authorities " + receiver.authorities;
    shown[std::string(setting.name) + '.' + receiver.name] =
        text + " min_severity " + std::string(to_string(receiver.least));
  }
}

}  // namespace autopilot::config
