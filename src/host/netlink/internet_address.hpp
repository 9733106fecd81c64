// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <sys/socket.h>

namespace autopilot::host {

// An IPv4 or IPv6 address as the kernel takes it.
struct InternetAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  [[nodiscard]] bool is_ipv6() const { return storage.ss_family == AF_INET6; }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  // Of the same host: the ports are not compared.
  friend bool operator==(const InternetAddress& a, const InternetAddress& b);
};

// "10.1.0.7", "fd00::7". Nothing for a name, for an address with a port, and for an address that is good on
// one network alone and needs its interface ("fe80::1%eth0").
[[nodiscard]] std::optional<InternetAddress> parse_internet_address(const std::string& text,
                                                                    std::uint16_t port = 0);
// Whether another machine can have it: no loopback, no group of machines, and not "any".
[[nodiscard]] bool is_host_address(const std::string& text);
// The 4 or 16 bytes of a sockaddr_in or sockaddr_in6, as the network orders them.
[[nodiscard]] std::string address_bytes(const sockaddr& address);
// Of a sockaddr_in or sockaddr_in6; nothing for any other.
[[nodiscard]] std::optional<std::string> address_text(const sockaddr& address);

}  // namespace autopilot::host
