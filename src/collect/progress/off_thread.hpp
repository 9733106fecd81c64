// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

namespace autopilot::collect {

// A thread for calls that may block, one task at a time. The thread begins with the first task. A task owns
// everything it uses: if it never returns, its thread is left behind. Called on one thread.
class OffThread {
 public:
  OffThread();
  OffThread(const OffThread&) = delete;
  OffThread& operator=(const OffThread&) = delete;
  // Waits up to two seconds for a running task.
  ~OffThread();

  [[nodiscard]] bool is_busy() const;
  // False: the task before has not returned, and this one is dropped.
  [[nodiscard]] bool start(std::function<void()> task);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace autopilot::collect
