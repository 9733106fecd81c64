// SPDX-License-Identifier: Apache-2.0

#include "net/router.hpp"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <cstdint>
#include <optional>
#include <set>
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

void Router::add(std::string_view method, std::string_view pattern, Handler handler, RouteOptions options) {
  AUTOPILOT_ASSERT(pattern.starts_with('/'));
  Route route;
  route.method = method;
  for (const auto text : split(pattern.substr(1), '/')) {
    Segment segment;
    segment.is_parameter = text.size() > 2 && text.starts_with('{') && text.ends_with('}');
    segment.text = segment.is_parameter ? text.substr(1, text.size() - 2) : text;
    route.segments.push_back(std::move(segment));
  }
  route.handler = std::move(handler);
  route.options = options;
  routes_.push_back(std::move(route));
}

bool Router::fits(const Route& route, const std::vector<std::string>& segments) {
  return std::ranges::equal(route.segments, segments, [](const Segment& wanted, const std::string& given) {
    return wanted.is_parameter ? !given.empty() : wanted.text == given;
  });
}

bool Router::is_more_literal(const Route& a, const Route& b) {
  return std::ranges::lexicographical_compare(a.segments, b.segments, {}, &Segment::is_parameter,
                                              &Segment::is_parameter);
}

Router::Match Router::find(std::string_view method, const std::vector<std::string>& segments) const {
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  const Route* best = nullptr;
  std::set<std::string_view> allowed;
  for (const auto& route : routes_) {
    if (!fits(route, segments)) continue;
    allowed.insert(route.method);
    if (route.method == wanted && (best == nullptr || is_more_literal(route, *best))) best = &route;
  }

  Match match;
  if (best != nullptr) {
    match.handler = &best->handler;
    match.options = best->options;
    for (std::size_t i = 0; i < segments.size(); ++i)
      if (best->segments[i].is_parameter) match.parameters.emplace(best->segments[i].text, segments[i]);
    return match;
  }
  match.status = allowed.empty() ? 404 : 405;
  if (allowed.contains("GET")) allowed.insert("HEAD");
  for (const auto name : allowed) {
    if (!match.allow.empty()) match.allow += ", ";
    match.allow += name;
  }
  return match;
}

}  // namespace autopilot::net
