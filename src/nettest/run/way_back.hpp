// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "net/event_loop.hpp"

namespace autopilot::nettest {

// Posts callbacks from any thread to the event loop; does nothing after destruction. Construct and destroy it
// on the loop's thread.
class WayBack {
 public:
  explicit WayBack(net::EventLoop& loop) : end_(std::make_shared<End>()) { end_->loop = &loop; }
  WayBack(const WayBack&) = delete;
  WayBack& operator=(const WayBack&) = delete;
  ~WayBack() {
    const std::lock_guard lock(end_->mutex);
    end_->loop = nullptr;
  }

  // Calls a function on the loop's thread; drops it after destruction. From any thread, at any time.
  using Post = std::function<void(std::function<void()>)>;
  [[nodiscard]] Post post() const {
    return [end = end_](std::function<void()> function) {
      const std::lock_guard lock(end->mutex);
      if (end->loop == nullptr) return;
      end->loop->post([end, function = std::move(function)] {
        if (end->loop != nullptr) function();
      });
    };
  }

 private:
  struct End {
    std::mutex mutex;
    net::EventLoop* loop = nullptr;  // changed on the loop's thread alone, under the mutex
  };

  std::shared_ptr<End> end_;
};

// Why something was not measured.
inline constexpr std::string_view kEndedBefore = "the test was ended before";

// Keeps abandoned exchanges until their agents have ended, because these agents hold lines and GPUs that the
// next run needs idle. On the loop's thread.
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
