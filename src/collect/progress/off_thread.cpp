// SPDX-License-Identifier: Apache-2.0
#include "collect/progress/off_thread.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace autopilot::collect {

struct OffThread::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::function<void()> task;  // guarded, as is all that follows
  bool is_started = false;
  bool is_running = false;
  bool is_over = false;

  static void run(const std::shared_ptr<Shared>& shared) {
    std::unique_lock lock(shared->mutex);
    while (true) {
      shared->changed.wait(lock, [&] { return shared->is_over || shared->task; });
      if (shared->is_over) return;
      {
        const std::function<void()> task = std::exchange(shared->task, nullptr);
        lock.unlock();
        task();
      }
      lock.lock();
      shared->is_running = false;
      shared->changed.notify_all();
    }
  }
};

OffThread::OffThread() : shared_(std::make_shared<Shared>()) {}

OffThread::~OffThread() {
  std::unique_lock lock(shared_->mutex);
  shared_->is_over = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, std::chrono::seconds{2},
                            [&] { return !shared_->is_running || shared_->task; });
}

bool OffThread::is_busy() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->is_running;
}

bool OffThread::start(std::function<void()> task) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->is_running) return false;
  if (!std::exchange(shared_->is_started, true))
    std::thread([shared = shared_] { Shared::run(shared); }).detach();
  shared_->task = std::move(task);
  shared_->is_running = true;
  shared_->changed.notify_all();
  return true;
}

}  // namespace autopilot::collect
