// SPDX-License-Identifier: Apache-2.0
#include "agent/snapshot_pages.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <utility>

#include "core/parse.hpp"
#include "core/stable_hash.hpp"

namespace autopilot::agent {
namespace {

std::string tag_of(std::string_view bytes) {
  return '"' + stable_hash(bytes).hex() + '"';
}

}  // namespace

bool names_tag(std::string_view if_none_match, std::string_view tag) {
  for (std::string_view one : split(if_none_match, ',')) {
    one = trim(one);
    if (one.starts_with("W/")) one.remove_prefix(2);
    if (one == tag || one == "*") return true;
  }
  return false;
}

net::HttpResponse SnapshotPages::answer(const net::HttpRequest& request,
                                        const std::shared_ptr<const NodeSnapshot>& snapshot,
                                        const std::string& name, const Render& render) {
  const Page& found = page(snapshot, name, render);
  net::HttpResponse response;
  // A cache must revalidate its copy.
  response.headers = {{"Cache-Control", "no-cache"}, {"ETag", found.tag}};
  const auto known = request.headers.find("if-none-match");
  if (known != request.headers.end() && names_tag(known->second, found.tag))
    response.status = 304;
  else
    response.shared_body = found.body;
  return response;
}

const SnapshotPages::Page& SnapshotPages::page(const std::shared_ptr<const NodeSnapshot>& snapshot,
                                               const std::string& name, const Render& render) {
  if (of_.lock() != snapshot) {
    pages_.clear();
    of_ = snapshot;
  }
  const auto found = pages_.find(name);
  if (found != pages_.end()) return found->second;
  auto body = std::make_shared<const std::string>(render(*snapshot));
  std::string tag = tag_of(*body);
  return pages_.emplace(name, Page{std::move(body), std::move(tag)}).first->second;
}

}  // namespace autopilot::agent
