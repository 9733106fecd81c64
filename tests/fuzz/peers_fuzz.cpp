// SPDX-License-Identifier: Apache-2.0
// Input from other machines in network tests: ICMP replies, addresses, requests and answers of another agent,
// and requests and answers of helpers and probes. Parsed or refused, and written again as it was parsed.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "api/bandwidth.hpp"
#include "api/network.hpp"
#include "core/result.hpp"
#include "nettest/echo/echo_message.hpp"
#include "nettest/echo/peer_echo.hpp"
#include "nettest/echo/probes.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::peers_fuzz {
namespace {

void read_packet(std::string_view packet) {
  (void)nettest::parse_echo_reply(true, packet);
  if (const auto message = nettest::message_of_ipv4_packet(packet)) {
    AUTOPILOT_ASSERT(message->size() + nettest::kIpv4Header <= packet.size());
    (void)nettest::parse_echo_reply(false, *message);
  }
}

void read_texts(std::string_view text) {
  if (const auto plan = nettest::parse_echo_plan(text))
    AUTOPILOT_ASSERT(nettest::parse_echo_plan(nettest::format_echo_plan(*plan)).value() == *plan);
  if (const auto echoes = nettest::parse_peer_echoes(text))
    AUTOPILOT_ASSERT(nettest::parse_peer_echoes(nettest::format_peer_echoes(*echoes)).value() == *echoes);
  if (const auto network = api::parse_node_network(text))
    AUTOPILOT_ASSERT(api::parse_node_network(api::to_json(*network)).value() == *network);
}

void read_requests(std::string_view text) {
  if (const auto request = api::parse_servers_request(text))
    AUTOPILOT_ASSERT(api::parse_servers_request(api::to_json(*request)).value() == *request);
  if (const auto request = api::parse_bandwidth_request(text))
    AUTOPILOT_ASSERT(api::parse_bandwidth_request(api::to_json(*request)).value() == *request);
  if (const auto answer = api::parse_servers_answer(text))
    AUTOPILOT_ASSERT(api::parse_servers_answer(api::to_json(*answer)).value() == *answer);
  (void)api::parse_bandwidth_answer(text);
  (void)api::parse_servers_end(text);
  (void)nettest::parse_nccl_id(text);
  (void)nettest::parse_all_reduce(text);
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_packet(text);
  read_texts(text);
  read_requests(text);
  return 0;
}

}  // namespace autopilot::peers_fuzz
