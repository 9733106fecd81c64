// SPDX-License-Identifier: Apache-2.0
#include "net/host_policy.hpp"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/parse.hpp"

namespace autopilot::net {

namespace {

// The host part of "name", "name:port", "[::1]" and "[::1]:port", in lower case and without a final dot.
std::optional<std::string> host_name(std::string_view host) {
  std::string_view name = host;
  std::string_view port;
  if (host.starts_with('[')) {
    const auto close = host.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    name = host.substr(1, close - 1);
    port = host.substr(close + 1);
  } else if (const auto colon = host.find(':'); colon != std::string_view::npos) {
    name = host.substr(0, colon);
    port = host.substr(colon);
  }
  if (!port.empty() && (port[0] != ':' || !parse_number<std::uint16_t>(port.substr(1)))) return std::nullopt;
  if (name.ends_with('.')) name.remove_suffix(1);
  if (name.empty()) return std::nullopt;
  return to_lower(name);
}

std::optional<boost::asio::ip::address> ip_address(std::string_view text) {
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(std::string(text), error);
  if (error) return std::nullopt;
  return address;
}

}  // namespace

HostPolicy::HostPolicy(std::string bound_address, std::vector<std::string> allowed_hosts, std::string scheme)
    : bound_address_(std::move(bound_address)),
      allowed_hosts_(std::move(allowed_hosts)),
      scheme_(std::move(scheme)) {
  for (auto& name : allowed_hosts_)
    name = to_lower(name);
}

bool HostPolicy::allows(std::string_view name) const {
  if (name == "localhost" || std::ranges::find(allowed_hosts_, name) != allowed_hosts_.end()) return true;
  const auto asked = ip_address(name);
  if (!asked) return false;
  const auto bound = ip_address(bound_address_);
  // An IP address in Host is safe: DNS rebinding needs a name.
  return asked->is_loopback() || (bound && (bound->is_unspecified() || *asked == *bound));
}

Status HostPolicy::check(std::string_view host, const std::string* origin) const {
  if (!host.empty()) {
    const auto name = host_name(host);
    if (!name || !allows(*name))
      return fail(Errc::denied,
                  "the Host header does not name this server; add the name to the allowed hosts");
  }
  if (origin != nullptr && (host.empty() || to_lower(*origin) != scheme_ + "://" + to_lower(host)))
    return fail(Errc::denied, "the Origin header names another origin");
  return {};
}

}  // namespace autopilot::net
