// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <mutex>

namespace autopilot::net {

// The part of a loop that can outlive it: any thread posts through it, and posts after the loop's destruction
// are dropped.
struct LoopState {
  std::mutex mutex;
  std::unique_ptr<boost::asio::io_context> context;  // null once the loop is gone

  void post(std::function<void()> function);
};

}  // namespace autopilot::net
