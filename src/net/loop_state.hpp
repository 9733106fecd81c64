// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <mutex>

namespace autopilot::net {

// What of a loop may outlive it: others post through it from any thread, and learn nothing when it is gone.
struct LoopState {
  std::mutex mutex;
  std::unique_ptr<boost::asio::io_context> context;  // null once the loop is gone

  void post(std::function<void()> function);
};

}  // namespace autopilot::net
