// SPDX-License-Identifier: Apache-2.0
#include "net/url.hpp"

#include <algorithm>

#include "core/parse.hpp"

namespace autopilot::net {

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
