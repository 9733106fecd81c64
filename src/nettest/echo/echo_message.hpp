// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Echo requests and replies of ICMP (RFC 792) and ICMPv6 (RFC 4443). Pure.
namespace autopilot::nettest {

// Which question a reply belongs to: the first bytes of what is sent, which come back.
struct EchoLabel {
  std::uint64_t round = 0;   // random: answers to other programs and earlier rounds differ
  std::uint32_t target = 0;  // its number in the round
  std::uint16_t number = 0;  // of the questions to that target

  friend bool operator==(const EchoLabel&, const EchoLabel&) = default;
};

inline constexpr std::size_t kEchoHeader = 8;   // bytes before what is sent along
inline constexpr std::size_t kEchoLabel = 14;   // the least that is sent along
inline constexpr std::size_t kIpv4Header = 20;  // without options
inline constexpr std::size_t kIpv6Header = 40;

// A request whose packet of IP has `packet_bytes`, or as few as it can have.
[[nodiscard]] std::string make_echo_request(bool is_ipv6, std::uint16_t id, const EchoLabel& label,
                                            std::size_t packet_bytes);
// Label of an echo reply. message: without the IP header. std::nullopt: another message, or truncated.
[[nodiscard]] std::optional<EchoLabel> parse_echo_reply(bool is_ipv6, std::string_view message);
// ICMP message of an IPv4 packet, as a raw socket returns it. std::nullopt: not a whole IPv4 packet of ICMP.
[[nodiscard]] std::optional<std::string_view> message_of_ipv4_packet(std::string_view packet);

}  // namespace autopilot::nettest
