// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "net/event_loop.hpp"

namespace autopilot::nettest {

// By which what other threads have done comes to the loop, as long as who waits for it lives. Made and ended
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

  // Calls a function on the loop's thread, or nobody where the way has ended. From any thread, at any time.
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

}  // namespace autopilot::nettest
