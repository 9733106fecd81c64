// SPDX-License-Identifier: Apache-2.0
#include "net/server_url.hpp"

#include "core/parse.hpp"

namespace autopilot::net {

namespace {

constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::uint16_t port_of_scheme(const ServerUrl& url) {
  return url.is_tls ? kHttpsPort : kHttpPort;
}

bool is_host_character(char c) {
  return static_cast<unsigned char>(c) > 0x20 && c != 0x7f && c != '@' && c != '?' && c != '#' && c != '%';
}

}  // namespace

Result<ServerUrl> parse_server_url(std::string_view text) {
  // Omits the user part, which can contain a password.
  const auto user_end = text.rfind('@');
  const std::string shown =
      user_end == std::string_view::npos ? std::string(text) : "..." + std::string(text.substr(user_end));
  const auto malformed = [&shown](const char* why) {
    return fail(Errc::malformed, "'" + shown + "' " + why);
  };
  ServerUrl url;
  url.is_tls = take_prefix(text, "https://");
  if (!url.is_tls && !take_prefix(text, "http://"))
    return malformed("does not begin with https:// or http://");
  for (const char c : text)
    if (!is_host_character(c))
      return malformed("is not a server URL: it contains a user, a query or a space");
  const auto slash = text.find('/');
  if (slash != std::string_view::npos) {
    url.path = text.substr(slash);
    text = text.substr(0, slash);
  }
  while (url.path.ends_with('/'))
    url.path.pop_back();
  std::string_view port;
  if (take_prefix(text, "[")) {
    const auto end = text.find(']');
    if (end == std::string_view::npos) return malformed("has no ] after its address");
    url.host = text.substr(0, end);
    port = text.substr(end + 1);
  } else {
    const auto colon = text.find(':');
    url.host = text.substr(0, colon);
    if (colon != std::string_view::npos) port = text.substr(colon);
  }
  if (url.host.empty()) return malformed("has no host");
  url.port = port_of_scheme(url);
  if (port.empty()) return url;
  const auto number = port.front() == ':' ? parse_number<std::uint16_t>(port.substr(1)) : std::nullopt;
  if (!number || *number == 0) return malformed("has an invalid port; expected 1 to 65535");
  url.port = *number;
  return url;
}

std::string host_header(const ServerUrl& url) {
  const bool has_colon = url.host.find(':') != std::string::npos;
  std::string text = has_colon ? "[" + url.host + "]" : url.host;
  if (url.port != port_of_scheme(url)) text += ":" + std::to_string(url.port);
  return text;
}

std::string to_string(const ServerUrl& url) {
  return (url.is_tls ? "https://" : "http://") + host_header(url) + url.path;
}

}  // namespace autopilot::net
