// SPDX-License-Identifier: Apache-2.0
#include "core/database_place.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "core/parse.hpp"

namespace autopilot {
namespace {

constexpr std::string_view kScheme = "postgresql://";
constexpr std::array<std::string_view, 2> kSchemes{kScheme, "postgres://"};
struct DatabaseParts {
  std::string user, hosts, database;  // hosts: with their ports
};
using Keywords = std::map<std::string, std::string, std::less<>>;

std::size_t scheme_length(std::string_view place) {
  for (const std::string_view scheme : kSchemes)
    if (place.starts_with(scheme)) return scheme.size();
  return 0;
}

bool has_any(std::string_view text, std::string_view characters) {
  return text.find_first_of(characters) != std::string_view::npos;
}

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";

bool has_only(std::string_view text, std::string_view characters) {
  return text.find_first_not_of(characters) == std::string_view::npos;
}

// A keyword of a connection string.
bool is_word(std::string_view text) {
  return !text.empty() && has_only(to_lower(text), std::string(kLetters) + "0123456789_");
}

// Also a place that is not written as libpq expects it: "postgresql:/agent@db".
bool has_scheme_of_postgres(std::string_view place) {
  const std::string scheme = to_lower(place.substr(0, place.find(':')));
  return scheme.size() < place.size() && scheme.starts_with("postgres") && has_only(scheme, kLetters);
}

// libpq also accepts a whole connection string as the name of a database; percent-encoded too.
bool can_be_connection_string(std::string_view database) {
  constexpr std::array<std::string_view, 4> kEncoded{"%40", "%3a", "%2f", "%3d"};
  const std::string name = to_lower(database);
  return has_any(name, "@:/=") || std::ranges::any_of(kEncoded, [&name](std::string_view code) {
           return name.find(code) != std::string::npos;
         });
}

// "host", "host:5432", "[::1]:5432"; a port that is not a number can be a part of a password.
bool is_host(std::string_view host) {
  if (has_any(host, "@ ")) return false;
  const auto bracket = host.rfind(']');
  const auto colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (colon == std::string_view::npos) return true;
  const std::string_view port = host.substr(colon + 1);
  return port.empty() || parse_number<std::uint16_t>(port);
}

std::optional<DatabaseParts> parts_of_url(std::string_view rest) {
  DatabaseParts parts;
  const auto at = rest.find_first_of("@/");
  if (at != std::string_view::npos && rest[at] == '@') {
    parts.user = rest.substr(0, std::min(rest.find(':'), at));
    rest.remove_prefix(at + 1);
  }
  const auto question = rest.find('?');
  const std::string_view parameters =
      question == std::string_view::npos ? std::string_view{} : rest.substr(question + 1);
  rest = rest.substr(0, question);
  const auto slash = rest.find('/');
  const std::string_view hosts = rest.substr(0, slash);
  if (!std::ranges::all_of(split(hosts, ','), is_host)) return std::nullopt;
  parts.hosts = hosts;
  if (slash != std::string_view::npos) parts.database = rest.substr(slash + 1);
  if (has_any(parts.database, "@:/")) return std::nullopt;
  for (const std::string_view parameter : split(parameters, '&')) {
    if (parameter.starts_with("host=")) parts.hosts = parameter.substr(5);
    if (parameter.starts_with("user=")) parts.user = parameter.substr(5);
    if (!parameter.starts_with("dbname=")) continue;
    parts.database = parameter.substr(7);
    if (can_be_connection_string(parts.database)) return std::nullopt;
  }
  return parts;
}

// Reads one value of the keyword form from the begin of `text`; nullopt: a quote is not closed.
std::optional<std::string> take_value(std::string_view& text) {
  std::string value;
  const bool is_quoted = text.starts_with('\'');
  if (is_quoted) text.remove_prefix(1);
  while (!text.empty()) {
    char next = text.front();
    if (is_quoted ? next == '\'' : has_any(text.substr(0, 1), " \t\r\n\f\v")) break;
    text.remove_prefix(1);
    if (next == '\\' && !text.empty()) {
      next = text.front();
      text.remove_prefix(1);
    }
    value += next;
  }
  if (!is_quoted) return value;
  if (text.empty()) return std::nullopt;
  text.remove_prefix(1);
  return value;
}

std::string_view skip_space(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n\f\v"), text.size()));
  return text;
}

std::optional<Keywords> read_keywords(std::string_view text) {
  Keywords keywords;
  for (text = skip_space(text); !text.empty(); text = skip_space(text)) {
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string_view keyword = trim(text.substr(0, equals));
    if (!is_word(keyword)) return std::nullopt;
    text = skip_space(text.substr(equals + 1));
    auto value = take_value(text);
    if (!value) return std::nullopt;
    keywords[std::string(keyword)] = std::move(*value);
  }
  return keywords;
}

std::optional<DatabaseParts> parts_of_keywords(std::string_view text) {
  const auto keywords = read_keywords(text);
  if (!keywords) return std::nullopt;
  const auto value = [&keywords](std::string_view keyword) {
    const auto found = keywords->find(keyword);
    return found == keywords->end() ? std::string{} : found->second;
  };
  DatabaseParts parts{.user = value("user"), .hosts = value("host"), .database = value("dbname")};
  if (parts.hosts.empty()) parts.hosts = value("hostaddr");
  if (const std::string port = value("port"); !port.empty()) parts.hosts += ":" + port;
  // libpq also accepts a whole connection string as the name of the database.
  if (is_postgres(parts.database)) return std::nullopt;
  return parts;
}

std::optional<DatabaseParts> parts_of(std::string_view place) {
  const std::size_t scheme = scheme_length(place);
  return scheme > 0 ? parts_of_url(place.substr(scheme)) : parts_of_keywords(place);
}

}  // namespace

bool is_postgres(std::string_view place) {
  const auto equals = place.find('=');
  if (equals != std::string_view::npos && is_word(trim(place.substr(0, equals)))) return true;
  return has_scheme_of_postgres(trim(place));
}

std::string printable_place(std::string_view place) {
  if (!is_postgres(place)) return std::string(place);
  const auto parts = parts_of(place);
  std::string printable{kScheme};
  if (!parts) return printable;
  if (!parts->user.empty()) printable += parts->user + "@";
  printable += parts->hosts;
  if (!parts->database.empty()) printable += "/" + parts->database;
  return to_printable(printable);
}

bool is_well_formed_postgres(std::string_view place) {
  return is_postgres(place) && parts_of(place).has_value();
}

}  // namespace autopilot
