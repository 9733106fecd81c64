// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "core/snapshot.hpp"
#include "net/http.hpp"

namespace autopilot::agent {

// JSON that follows from a snapshot, rendered once for each snapshot and not for each request; all answers
// share the bytes. On the loop's thread.
class SnapshotPages {
 public:
  using Render = std::function<std::string(const NodeSnapshot& snapshot)>;

  // name: of the page, one of few that the caller knows; the same name is rendered the same. The answer has
  // an ETag, and is 304 without a body where the request names the same ETag in If-None-Match.
  [[nodiscard]] net::HttpResponse answer(const net::HttpRequest& request,
                                         const std::shared_ptr<const NodeSnapshot>& snapshot,
                                         const std::string& name, const Render& render);

 private:
  struct Page {
    std::shared_ptr<const std::string> body;
    std::string tag;
  };
  [[nodiscard]] const Page& page(const std::shared_ptr<const NodeSnapshot>& snapshot, const std::string& name,
                                 const Render& render);

  std::weak_ptr<const NodeSnapshot> of_;  // whose pages these are
  std::map<std::string, Page, std::less<>> pages_;
};

// Whether the value of an If-None-Match header names the tag: a list, or * for any.
[[nodiscard]] bool names_tag(std::string_view if_none_match, std::string_view tag);

}  // namespace autopilot::agent
