// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "host/files/files.hpp"
#include "host/netlink/internet_address.hpp"

namespace autopilot::host {

// An address of this machine, or of the network namespace of this process.
struct OwnAddress {
  std::string interface;  // "eth0"
  std::string address;    // "10.1.0.7"
  unsigned mtu = 0;       // bytes of a packet of IP of that family; 0: not known
  unsigned prefix = 0;    // bits that it has in common with its neighbours; 0: not known

  friend bool operator==(const OwnAddress&, const OwnAddress&) = default;
};

// Addresses that other machines may know: no loopback, and nothing that is good on one network alone. Also of
// interfaces that are down, or have no carrier: that is when others are to miss them. By the name of the
// interface.
[[nodiscard]] Result<std::vector<OwnAddress>> read_own_addresses();

// Those by which other machines know this one: of the wanted interfaces, or, where none is named, of
// interfaces that are a device or are built on a device (a bond, a bridge with a port). Where none does, as
// in a container, all.
[[nodiscard]] std::vector<OwnAddress> addresses_for_peers(const host::Files& files,
                                                          std::vector<OwnAddress> all,
                                                          const std::vector<std::string>& wanted);

// Of its line, bits/s, as the kernel reports it: of a port, a bond, or what a virtual interface is taken for.
// 0: not known, as where there is no link.
[[nodiscard]] std::uint64_t line_rate(const host::Files& files, const std::string& interface);

// The one of them in whose neighbourhood that address is; null: none.
[[nodiscard]] const OwnAddress* own_neighbour_of(const InternetAddress& to,
                                                 const std::vector<OwnAddress>& own);
// By which of them a packet to that address goes, and how large it may be there: as the kernel would send it
// or, where it has no route, the neighbour. own: null where neither is known.
struct OwnWay {
  const OwnAddress* own = nullptr;
  // Of the interface, or less where the route sets it; never what routers reported about the path beyond. 0:
  // not known.
  unsigned mtu = 0;
};
[[nodiscard]] OwnWay own_way_towards(const InternetAddress& to, const std::vector<OwnAddress>& own);

}  // namespace autopilot::host
