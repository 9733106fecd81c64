// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/observation.hpp"

namespace autopilot::checks {

// The rule of the catalog that recognises "Link up" and "Link down".
inline constexpr std::string_view kLinkRule = "network.link";

// Lines about links, taken from the newest to the oldest. Of too many the shortest losses of each link are
// left out: a link that bounces a thousand times hides no loss that lasted. An outage begins with the first
// of several lines "down" and ends with the first "up" after it.
class LinkOutages {
 public:
  static constexpr std::size_t kMaxOutages = 32;  // of one link
  static constexpr std::size_t kMaxLinks = 64;

  // False where there is no room for another link.
  bool add(Observation event);
  // What is kept, in no particular order. Nothing is left here.
  [[nodiscard]] Observations take();

 private:
  // Of the oldest one nobody saw the begin, of the newest one perhaps not the end.
  struct Outage {
    std::optional<Observation> down;
    std::optional<Observation> up;
  };
  struct Link {
    Outage current;
    std::vector<Outage> outages;
    void finish();
  };
  static void move_to(Observations& events, Outage& outage);
  // Subject; may act; injected.
  using Key = std::tuple<Subject, bool, bool>;

  std::map<Key, Link> links_;
};

}  // namespace autopilot::checks
