// SPDX-License-Identifier: Apache-2.0
#include "net/address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "core/parse.hpp"

namespace autopilot::net {

namespace {

bool is_ip_address(const std::string& text) {
  in6_addr ignored{};
  return inet_pton(AF_INET, text.c_str(), &ignored) == 1 || inet_pton(AF_INET6, text.c_str(), &ignored) == 1;
}

tl::unexpected<Error> fail_address(std::string_view text) {
  return fail(Errc::malformed, "'" + std::string(text) +
                                   "' is not a valid address: expected an IP address and port, " +
                                   "as 127.0.0.1:3333, [::1]:3333 or :3333");
}

}  // namespace

Result<IpPort> parse_ip_port(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return fail_address(text);
  const auto port = parse_number<std::uint16_t>(text.substr(colon + 1));
  auto host = text.substr(0, colon);
  const bool has_brackets = host.size() > 2 && host.starts_with('[') && host.ends_with(']');
  if (has_brackets) host = host.substr(1, host.size() - 2);

  IpPort result;
  result.address = host == "localhost" ? "127.0.0.1" : std::string(host);
  result.port = port.value_or(0);
  const bool is_ipv6 = result.address.find(':') != std::string::npos;
  const bool is_valid = result.address.empty() ? !has_brackets : is_ip_address(result.address);
  if (!port || !is_valid || is_ipv6 != has_brackets) return fail_address(text);
  return result;
}

std::string to_string(const IpPort& address) {
  const bool is_ipv6 = address.address.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + address.address + "]" : address.address) + ":" + std::to_string(address.port);
}

}  // namespace autopilot::net
