// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "net/event_loop.hpp"
#include "nettest/run/way_back.hpp"

namespace autopilot::nettest {

// Why something was not measured.
inline constexpr std::string_view kEndedBefore = "the test was ended before";

// Exchanges for which nobody waits any more, until their agents have ended: what these hold would be in use,
// and the next run would not find it idle. On the loop's thread.
template <typename Exchange>
class Abandoned {
 public:
  explicit Abandoned(net::EventLoop& loop) : way_back_(loop) {}

  void add(std::vector<std::unique_ptr<Exchange>> exchanges) {
    for (std::unique_ptr<Exchange>& exchange : exchanges) {
      const auto place = list_.insert(list_.end(), std::move(exchange));
      (*place)->abandon([this, place] { way_back_.post()([this, place] { list_.erase(place); }); });
    }
  }

 private:
  WayBack way_back_;
  std::list<std::unique_ptr<Exchange>> list_;  // last: they call
};

}  // namespace autopilot::nettest
