// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "nettest/echo/echo_exchange.hpp"

namespace autopilot::nettest {

// How an address was asked.
enum class EchoWay : std::uint8_t {
  icmp,
  tcp,   // a connection, which is answered or refused: where the kernel gives no socket for ICMP
  none,  // not asked: see PeerEcho::problem
};

[[nodiscard]] std::string_view to_string(EchoWay way);
[[nodiscard]] std::optional<EchoWay> parse_echo_way(std::string_view word);

// A question to many addresses at once.
struct EchoPlan {
  static constexpr std::size_t kMostAddresses = 2048;  // their results fit into one answer
  static constexpr unsigned kMostEchoes = 100;

  std::vector<std::string> addresses;
  unsigned echoes = 5;   // to each
  unsigned closer = 20;  // further echoes to an address that does not answer all of them well
  // From the last question to giving up an answer.
  Duration patience = std::chrono::seconds{1};
  unsigned per_second = 5000;  // packets of all together
  bool finds_path_mtu = true;
  std::uint16_t tcp_port = 0;  // that is asked where ICMP is not allowed; 0: none

  friend bool operator==(const EchoPlan&, const EchoPlan&) = default;
};

// Result of one address. Sizes are of an IP packet, in bytes.
struct PeerEcho {
  std::string address;
  EchoWay way = EchoWay::icmp;
  EchoFigures figures;
  std::string interface;       // of this machine, towards it; empty: there is no path to it
  unsigned interface_mtu = 0;  // 0: not known
  // Largest packet that was answered, if a packet of interface_mtu was not. 0: interface_mtu passed, or the
  // path MTU was not tested: not requested, the path loses small packets too, or the deadline passed.
  unsigned path_mtu = 0;
  // Last error from this machine or a router: "No route to host"; or why it was not asked. Empty: no error.
  std::string problem;

  friend bool operator==(const PeerEcho&, const PeerEcho&) = default;
};

// As JSON between the helper and its agent. The parsers accept untrusted text. malformed: not such a text, or
// beyond the limits of EchoPlan.
[[nodiscard]] std::string format_echo_plan(const EchoPlan& plan);
[[nodiscard]] Result<EchoPlan> parse_echo_plan(std::string_view text);
[[nodiscard]] std::string format_peer_echoes(const std::vector<PeerEcho>& echoes);
[[nodiscard]] Result<std::vector<PeerEcho>> parse_peer_echoes(std::string_view text);

// Whether a packet or a connection could not be sent because this machine lacks a resource or a permission.
// Such an error is not evidence about the other machine.
[[nodiscard]] constexpr bool is_own_trouble(int error) {
  switch (error) {
    case EAGAIN:
    case ENOBUFS:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case EPERM:
    case EACCES:
    case EADDRNOTAVAIL:
      return true;
    default:
      return false;
  }
}

}  // namespace autopilot::nettest
