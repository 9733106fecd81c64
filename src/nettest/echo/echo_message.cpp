// SPDX-License-Identifier: Apache-2.0
#include "nettest/echo/echo_message.hpp"

#include <algorithm>

namespace autopilot::nettest {
namespace {

constexpr unsigned char kEchoRequest = 8;
constexpr unsigned char kEchoReply = 0;
constexpr unsigned char kEchoRequest6 = 128;
constexpr unsigned char kEchoReply6 = 129;
constexpr unsigned char kProtocolIcmp = 1;

void put(std::string& to, std::uint64_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    to.push_back(static_cast<char>((value >> shift) & 0xff));
}

unsigned char byte_at(std::string_view text, std::size_t place) {
  return static_cast<unsigned char>(text[place]);
}

std::uint64_t get(std::string_view text, std::size_t place, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i)
    value = value << 8 | byte_at(text, place + i);
  return value;
}

// RFC 1071.
std::uint16_t checksum(std::string_view message) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i + 1 < message.size(); i += 2)
    sum += static_cast<std::uint32_t>(byte_at(message, i) << 8 | byte_at(message, i + 1));
  if (message.size() % 2 != 0) sum += static_cast<std::uint32_t>(byte_at(message, message.size() - 1) << 8);
  while (sum >> 16 != 0)
    sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

}  // namespace

std::string make_echo_request(bool is_ipv6, std::uint16_t id, const EchoLabel& label,
                              std::size_t packet_bytes) {
  std::string message;
  put(message, is_ipv6 ? kEchoRequest6 : kEchoRequest, 1);
  put(message, 0, 3);  // code and checksum
  put(message, id, 2);
  put(message, label.number, 2);
  put(message, label.round, 8);
  put(message, label.target, 4);
  put(message, label.number, 2);
  const std::size_t header = is_ipv6 ? kIpv6Header : kIpv4Header;
  const std::size_t wanted = packet_bytes > header ? packet_bytes - header : 0;
  message.resize(std::max(message.size(), wanted), 'a');
  // The kernel writes that of ICMPv6, whose sum has the addresses in it.
  if (!is_ipv6) {
    const std::uint16_t sum = checksum(message);
    message[2] = static_cast<char>(sum >> 8);
    message[3] = static_cast<char>(sum & 0xff);
  }
  return message;
}

std::optional<EchoLabel> parse_echo_reply(bool is_ipv6, std::string_view message) {
  if (message.size() < kEchoHeader + kEchoLabel) return std::nullopt;
  if (byte_at(message, 0) != (is_ipv6 ? kEchoReply6 : kEchoReply) || byte_at(message, 1) != 0)
    return std::nullopt;
  return EchoLabel{.round = get(message, kEchoHeader, 8),
                   .target = static_cast<std::uint32_t>(get(message, kEchoHeader + 8, 4)),
                   .number = static_cast<std::uint16_t>(get(message, kEchoHeader + 12, 2))};
}

std::optional<std::string_view> message_of_ipv4_packet(std::string_view packet) {
  if (packet.size() < kIpv4Header || byte_at(packet, 0) >> 4 != 4) return std::nullopt;
  const std::size_t header = std::size_t{4} * (byte_at(packet, 0) & 0xf);
  if (header < kIpv4Header || header > packet.size() || byte_at(packet, 9) != kProtocolIcmp)
    return std::nullopt;
  return packet.substr(header);
}

}  // namespace autopilot::nettest
