// SPDX-License-Identifier: Apache-2.0
#include "net/router.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "core/parse.hpp"

namespace autopilot::net {

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
