// SPDX-License-Identifier: Apache-2.0
#include "probes/net/machine/listeners.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <optional>

#include "core/parse.hpp"

namespace autopilot::probes::net {
namespace {

// The kernel lists listening sockets first, and there can be a million of other sockets.
constexpr std::size_t kMostBytes = std::size_t{1} << 20U;
constexpr std::string_view kListening = "0A";

// "0100007F:1F90", the address in host byte order.
std::optional<Listener> place_in(std::string_view text) {
  constexpr std::size_t kAddressDigits = 8;
  constexpr std::size_t kPortDigits = 4;
  if (text.size() != kAddressDigits + 1 + kPortDigits || text[kAddressDigits] != ':') return std::nullopt;
  const auto address = parse_number<std::uint32_t>(text.substr(0, kAddressDigits), 16);
  const auto port = parse_number<std::uint16_t>(text.substr(kAddressDigits + 1), 16);
  if (!address || !port) return std::nullopt;
  Listener listener;
  std::memcpy(listener.address.data(), &*address, listener.address.size());
  listener.port = *port;
  return listener;
}

}  // namespace

std::vector<Listener> listeners_in(std::string_view table) {
  std::vector<Listener> listeners;
  for (const std::string_view line : split(table, '\n')) {
    const auto words = split_words(line);
    if (words.size() < 4 || words[3] != kListening) continue;
    if (const auto listener = place_in(words[1])) listeners.push_back(*listener);
  }
  return listeners;
}

Result<std::vector<Listener>> read_listeners(const std::string& path) {
  std::ifstream file(path);
  if (!file) return fail(Errc::unavailable, path + ": cannot be read");
  std::string text(kMostBytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return listeners_in(text);
}

bool is_listened_at(std::span<const Listener> listeners, const Address& address, int port) {
  return std::any_of(listeners.begin(), listeners.end(), [&](const Listener& one) {
    return !address.is_ipv6 && one.port == port &&
           std::equal(one.address.begin(), one.address.end(), address.bytes.begin());
  });
}

}  // namespace autopilot::probes::net
