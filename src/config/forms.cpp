// SPDX-License-Identifier: Apache-2.0
#include "config/forms.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "core/parse.hpp"
#include "core/pod_tests.hpp"

namespace autopilot::config {
namespace {

constexpr std::size_t kMaxPath = 4095;
constexpr std::size_t kMaxSocketPath = 107;  // sun_path of Linux, without its NUL
constexpr std::size_t kMaxHost = 253;
constexpr std::string_view kDnsLetters = "abcdefghijklmnopqrstuvwxyz0123456789-";
constexpr std::size_t kMaxInterface = 64;

constexpr std::array<std::pair<std::string_view, std::uint64_t>, 4> kUnits{{
    {"TiB", std::uint64_t{1} << 40},
    {"GiB", std::uint64_t{1} << 30},
    {"MiB", std::uint64_t{1} << 20},
    {"KiB", std::uint64_t{1} << 10},
}};

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_host(std::string_view text) {
  return !text.empty() && text.size() <= kMaxHost && std::all_of(text.begin(), text.end(), [](char c) {
    return is_alphanumeric(c) || c == '-' || c == '.' || c == '_';
  });
}

bool is_ipv4(std::string_view text) {
  const auto parts = split(text, '.');
  return parts.size() == 4 && std::ranges::all_of(parts, [](std::string_view part) {
           return parse_number<std::uint8_t>(part).has_value();
         });
}

bool is_ipv6(std::string_view text) {
  return text.find(':') != std::string_view::npos && std::all_of(text.begin(), text.end(), [](char c) {
           return is_alphanumeric(c) || c == ':' || c == '.' || c == '%';
         });
}

}  // namespace

bool is_listen_address(std::string_view text) {
  return text.empty() || is_further_address(text);
}

bool is_further_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return false;
  if (!parse_number<std::uint16_t>(text.substr(colon + 1))) return false;
  const std::string_view host = text.substr(0, colon);
  if (host.empty()) return true;
  if (host.starts_with('[') && host.ends_with(']')) return is_ipv6(host.substr(1, host.size() - 2));
  return is_host(host);
}

bool is_peer(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || !is_name(text.substr(0, equals))) return false;
  const std::string_view address = text.substr(equals + 1);
  // A number or an opening bracket: host names are not resolved.
  return is_further_address(address) &&
         (address.front() == '[' || is_ipv4(address.substr(0, address.rfind(':'))));
}

bool is_absolute_path(std::string_view text) {
  return text.starts_with('/') && text.size() <= kMaxPath && text.find('\0') == std::string_view::npos;
}

bool is_socket_path_or_empty(std::string_view text) {
  return text.empty() || is_socket_path(text);
}

bool is_socket_path(std::string_view text) {
  return is_absolute_path(text) && text.size() <= kMaxSocketPath && !text.ends_with('/');
}

bool is_node_name(std::string_view text) {
  return text.empty() || is_host(text);
}

bool is_name(std::string_view text) {
  return !text.empty() && is_node_name(text);
}

bool is_file_or_empty(std::string_view text) {
  return text.empty() || is_absolute_path(text);
}

bool is_dns_name(std::string_view text) {
  if (text.empty() || text.size() > kMaxHost) return false;
  return std::ranges::all_of(split(text, '.'), [](std::string_view part) {
    return !part.empty() && part.front() != '-' && part.back() != '-' &&
           part.find_first_not_of(kDnsLetters) == std::string_view::npos;
  });
}

bool is_label_name(std::string_view text) {
  constexpr std::size_t kLongest = 63;
  const auto slash = text.find('/');
  const bool has_prefix = slash != std::string_view::npos;
  const std::string_view name = has_prefix ? text.substr(slash + 1) : text;
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return (!has_prefix || is_dns_name(text.substr(0, slash))) && !name.empty() && name.size() <= kLongest &&
         is_letter(name.front()) && is_letter(name.back()) &&
         std::ranges::all_of(name, [&](char c) { return is_letter(c) || c == '-' || c == '_' || c == '.'; });
}

bool is_name_space(std::string_view text) {
  constexpr std::size_t kLongest = 63;
  return text.empty() ||
         (text.size() <= kLongest && text.find('.') == std::string_view::npos && is_dns_name(text));
}

bool is_image(std::string_view text) {
  constexpr std::size_t kLongest = 512;
  return !text.empty() && text.size() <= kLongest &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

bool is_image_or_empty(std::string_view text) {
  return text.empty() || is_image(text);
}

bool is_log_level(std::string_view text) {
  return text == "debug" || text == "info" || text == "warning" || text == "error";
}

bool is_kernel_level(std::string_view text) {
  return text == "best" || text == "sm_90" || text == "sm_80" || text == "sm_70";
}

bool is_deep_test(std::string_view text) {
  return text == "auto" || text == "dcgm" || text == "own";
}

bool is_log_format(std::string_view text) {
  return text == "text" || text == "json";
}

bool is_interface(std::string_view text) {
  return !text.empty() && text.size() <= kMaxInterface && std::all_of(text.begin(), text.end(), [](char c) {
    return is_alphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '/' || c == '@';
  });
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  for (const auto& [unit, bytes] : kUnits) {
    if (!text.ends_with(unit)) continue;
    const auto count = parse_number<std::uint64_t>(text.substr(0, text.size() - unit.size()));
    if (!count || *count > std::numeric_limits<std::uint64_t>::max() / bytes) return std::nullopt;
    return *count * bytes;
  }
  return parse_number<std::uint64_t>(text);
}

std::string format_size(std::uint64_t bytes) {
  for (const auto& [unit, size] : kUnits)
    if (bytes >= size && bytes % size == 0) return std::to_string(bytes / size) + std::string(unit);
  return std::to_string(bytes);
}

bool is_https_url_or_empty(std::string_view text) {
  return text.empty() || (text.starts_with("https://") && text.size() > 8 && is_image(text));
}

bool is_http_url(std::string_view text) {
  constexpr std::size_t kMaxUrl = 2048;
  const bool is_plain = text.starts_with("http://");
  const std::size_t scheme = is_plain ? 7 : 8;
  return (is_plain || text.starts_with("https://")) && text.size() > scheme && text.size() <= kMaxUrl &&
         text[scheme] != '/' &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7F; });
}

bool is_pod_test(std::string_view id) {
  return std::ranges::find(kPodTests, id) != kPodTests.end();
}

}  // namespace autopilot::config
