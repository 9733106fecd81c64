// SPDX-License-Identifier: Apache-2.0
#include "probes/net/machine/address.hpp"

#include <arpa/inet.h>
#include <net/if.h>

#include "core/parse.hpp"

namespace autopilot::probes::net {

bool Address::is_link_local() const {
  return is_ipv6 ? bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80 : bytes[0] == 169 && bytes[1] == 254;
}

bool is_same_address(const Address& a, const Address& b) {
  return a.is_ipv6 == b.is_ipv6 && a.bytes == b.bytes;
}

Result<Address> parse_address(std::string_view text) {
  const std::size_t percent = text.find('%');
  const std::string host(text.substr(0, percent));
  Address address;
  address.is_ipv6 = host.find(':') != std::string::npos;
  if (percent != std::string_view::npos) address.zone = text.substr(percent + 1);
  const bool has_zone = percent != std::string_view::npos;
  const bool is_zone = !address.zone.empty() && address.zone.size() < IF_NAMESIZE &&
                       is_printable(address.zone) && address.zone.find_first_of(" /%") == std::string::npos;
  const int family = address.is_ipv6 ? AF_INET6 : AF_INET;
  std::array<char, INET6_ADDRSTRLEN> written{};
  if (!is_printable(host) || ::inet_pton(family, host.c_str(), address.bytes.data()) != 1 ||
      ::inet_ntop(family, address.bytes.data(), written.data(), written.size()) == nullptr ||
      (has_zone && !(is_zone && address.is_ipv6 && address.is_link_local())))
    return fail(Errc::malformed,
                "'" + to_printable(text, 80) + "' is not an address such as 10.0.0.1 or fe80::1%eth0");
  address.text = written.data();
  if (has_zone) address.text += "%" + address.zone;
  return address;
}

}  // namespace autopilot::probes::net
