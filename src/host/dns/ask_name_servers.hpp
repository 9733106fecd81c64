// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/dns/name_servers.hpp"

namespace autopilot::host {

inline constexpr std::uint16_t kDnsPort = 53;

// An IPv4 or IPv6 address as the C library takes one, the latter with an interface behind a "%" where it
// needs one. What the text is does not depend on whether this machine has that interface.
[[nodiscard]] bool is_internet_address(const std::string& text);

// Asks all of them over UDP, from this thread, until each has answered or the deadline (of mono_now()) has
// passed. Each gets one question. After half of the time those that gave no answer get two more, which ask
// for nothing that a server has to find out elsewhere: they tell a server that lives from one that does not.
// Two, because no single one is answered by all that only forward (docs/adr/0013). An answer to the first
// question counts until the end.
// Only datagrams from the address and port that was asked, with the number of a question, are answers; the
// numbers and the own ports are random. Addresses must be such. What this machine has run out of (exhausted:
// ports, descriptors) is the error of all, and so is an error before anything was sent that says nothing
// about the server; every other error is what became of that server.
[[nodiscard]] Result<std::vector<NameServerAnswer>> ask_name_servers(std::span<const std::string> addresses,
                                                                     std::uint16_t port, MonoTime deadline);

}  // namespace autopilot::host
