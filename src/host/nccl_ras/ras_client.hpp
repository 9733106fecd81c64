// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"

namespace autopilot::host {

enum class RasHost : std::uint8_t { localhost, ipv4, ipv6 };  // localhost: 127.0.0.1, then ::1

// Where the processes of a job answer RAS clients: always a loopback address, of their network namespace.
struct RasAddress {
  static constexpr std::uint16_t kDefaultPort = 28028;

  RasHost host = RasHost::localhost;
  std::uint16_t port = kDefaultPort;
};

// The value of NCCL_RAS_ADDR; empty: the default. An address of all interfaces means loopback. unsupported:
// any other address: only loopback is asked. malformed: no address and port.
[[nodiscard]] Result<RasAddress> parse_ras_address(std::string_view text);

// Asks for the verbose status in the network namespace of the calling thread: as JSON, or as text where NCCL
// is older than 2.28. Returns by the deadline. unavailable: no program listens, or it closed the connection.
// timed_out. malformed: the program is not RAS. exhausted: the answer has more than kMaxRasBytes.
[[nodiscard]] Result<std::string> query_ras(const RasAddress& address, MonoTime deadline);

}  // namespace autopilot::host
