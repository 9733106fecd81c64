// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "core/clock.hpp"

namespace autopilot::host {

// Which call of a library a thread is in, for another thread that waits for it.
class CallWatch {
 public:
  // `name` must outlive the call.
  void begin(const char* name, MonoTime now) {
    since_.store(now.time_since_epoch().count());
    name_.store(name);
  }
  void end() { name_.store(nullptr); }

  // Null: in none.
  [[nodiscard]] const char* name() const { return name_.load(); }
  [[nodiscard]] MonoTime since() const { return MonoTime{Duration{since_.load()}}; }

 private:
  std::atomic<const char*> name_ = nullptr;
  std::atomic<Duration::rep> since_ = 0;
};

}  // namespace autopilot::host
