// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "probes/net/machine/interfaces.hpp"

namespace autopilot::probes::net {

// A listening TCP socket over IPv4.
struct Listener {
  std::array<std::uint8_t, 4> address{};  // in network byte order
  int port = 0;
};

// Listening sockets in the kernel's table. Malformed lines are skipped.
[[nodiscard]] std::vector<Listener> listeners_in(std::string_view table);

// Listening sockets in the network namespace of this process. Opens no connection.
[[nodiscard]] Result<std::vector<Listener>> read_listeners(const std::string& path = "/proc/self/net/tcp");

// True for this address itself, not for the wildcard address.
[[nodiscard]] bool is_listened_at(std::span<const Listener> listeners, const Address& address, int port);

// Limit of the kernel for one socket, for either family.
inline constexpr std::size_t kMostPeers = 64;

// Makes the kernel drop every packet to this TCP socket (IPv4 or IPv6) whose source is not in the list,
// including the first packet of a connection: other clients get no response, as if the port were filtered.
// Accepted connections inherit the filter. exhausted: more than kMostPeers. denied: some kernels require a
// permission.
[[nodiscard]] Status accept_only_from(int socket, std::span<const Address> peers);
// True if the peer of a connection has one of these addresses.
[[nodiscard]] bool is_from_one_of(int socket, std::span<const Address> peers);

inline constexpr int kDefaultPort = 5201;
inline constexpr int kMostPort = 65535;

// Ports on which servers can listen.
struct PortRange {
  int first = kDefaultPort;   // 0: any free port
  std::optional<int> last{};  // set: any free port of the range; not set: consecutive ports from `first`

  [[nodiscard]] bool is_any() const { return first == 0; }
  // True if a server tries another port when its port is taken.
  [[nodiscard]] bool has_choice() const { return is_any() || last.has_value(); }
};

// "5201", "5201-5300" or "0".
[[nodiscard]] std::optional<PortRange> parse_port_range(std::string_view text);
// "5201" or "5201,5203,5204".
[[nodiscard]] std::optional<std::vector<int>> parse_ports(std::string_view text);

// Returns each port of a range once.
class Ports {
 public:
  // `count`: number of servers, if the range has no end of its own.
  Ports(const PortRange& range, int count);

  // The next port to try. exhausted: none is left. For any port: a port that was free a moment ago.
  [[nodiscard]] Result<int> next(const Address& bind);

 private:
  bool is_any_;
  int next_;
  int last_;
};

}  // namespace autopilot::probes::net
