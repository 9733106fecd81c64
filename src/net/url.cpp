// SPDX-License-Identifier: Apache-2.0

#include "net/url.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <netinet/in.h>

#include "core/parse.hpp"

namespace autopilot::net {

namespace {

bool is_ip_address(const std::string& text) {
  in6_addr ignored{};
  return inet_pton(AF_INET, text.c_str(), &ignored) == 1 || inet_pton(AF_INET6, text.c_str(), &ignored) == 1;
}

tl::unexpected<Error> fail_address(std::string_view text) {
  return fail(Errc::malformed, "'" + std::string(text) +
                                   "' is not a valid address: expected an IP address and port, " +
                                   "as 127.0.0.1:3333, [::1]:3333 or :3333");
}

}  // namespace

Result<IpPort> parse_ip_port(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return fail_address(text);
  const auto port = parse_number<std::uint16_t>(text.substr(colon + 1));
  auto host = text.substr(0, colon);
  const bool has_brackets = host.size() > 2 && host.starts_with('[') && host.ends_with(']');
  if (has_brackets) host = host.substr(1, host.size() - 2);

  IpPort result;
  result.address = host == "localhost" ? "127.0.0.1" : std::string(host);
  result.port = port.value_or(0);
  const bool is_ipv6 = result.address.find(':') != std::string::npos;
  const bool is_valid = result.address.empty() ? !has_brackets : is_ip_address(result.address);
  if (!port || !is_valid || is_ipv6 != has_brackets) return fail_address(text);
  return result;
}

std::string to_string(const IpPort& address) {
  const bool is_ipv6 = address.address.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + address.address + "]" : address.address) + ":" + std::to_string(address.port);
}

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

namespace {

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

Result<std::string> decode(std::string_view text) {
  auto decoded = percent_decode(text);
  if (!decoded) return fail(Errc::malformed, "request target: a percent sign without two hexadecimal digits");
  return *std::move(decoded);
}

Result<std::string> decode_form(std::string_view text) {
  std::string spaced(text);
  std::ranges::replace(spaced, '+', ' ');
  return decode(spaced);
}

}  // namespace

std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (text.size() - i < 3) return std::nullopt;
    const auto byte = parse_number<unsigned char>(text.substr(i + 1, 2), 16);
    if (!byte || *byte == 0) return std::nullopt;
    out += static_cast<char>(*byte);
    i += 2;
  }
  return out;
}

std::string percent_encode(std::string_view text, bool keep_slashes) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (is_unreserved(c) || (keep_slashes && c == '/')) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += kHex[byte >> 4];
      out += kHex[byte & 0xf];
    }
  }
  return out;
}

Result<RequestTarget> parse_request_target(std::string_view text) {
  if (text.starts_with("http://")) {
    const auto slash = text.find('/', 7);
    text = slash == std::string_view::npos ? std::string_view("/") : text.substr(slash);
  }
  if (!text.starts_with('/')) return fail(Errc::malformed, "request target: expected a path");

  RequestTarget target;
  const auto question = text.find('?');
  const auto path = text.substr(0, question);
  target.path = TRY(decode(path));
  for (const auto segment : split(path.substr(1), '/'))
    target.segments.push_back(TRY(decode(segment)));
  if (question == std::string_view::npos) return target;

  for (const auto pair : split(text.substr(question + 1), '&')) {
    if (pair.empty()) continue;
    const auto equals = pair.find('=');
    const auto value = equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1);
    auto name = TRY(decode_form(pair.substr(0, equals)));
    target.query.try_emplace(std::move(name), TRY(decode_form(value)));
  }
  return target;
}

}  // namespace autopilot::net
