// SPDX-License-Identifier: Apache-2.0

#include "runtime/workers.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace autopilot::runtime {

struct Workers::Shared {
  struct Task {
    Ticket ticket = 0;
    std::function<void()> work;
  };

  explicit Shared(Limits given) : limits(given) {}

  std::mutex mutex;
  std::condition_variable has_work;
  std::condition_variable worker_ended;
  const Limits limits;
  std::deque<Task> queue;
  std::vector<Ticket> running;
  std::vector<Ticket> abandoned;  // still running
  Ticket next_ticket = 1;
  int threads = 0;
  std::uint64_t refused = 0;
  bool stopping = false;

  static void start_worker(const std::shared_ptr<Shared>& shared) {
    ++shared->threads;
    std::thread([shared] { shared->work(); }).detach();
  }

  void work() {
    std::unique_lock lock(mutex);
    while (true) {
      has_work.wait(lock, [this] { return stopping || !queue.empty(); });
      if (queue.empty()) break;
      Task task = std::move(queue.front());
      queue.pop_front();
      running.push_back(task.ticket);
      lock.unlock();
      task.work();
      task.work = nullptr;
      lock.lock();
      if (const auto late = std::find(abandoned.begin(), abandoned.end(), task.ticket);
          late != abandoned.end()) {
        abandoned.erase(late);
        // A replacement is running, unless the limit was reached when this thread was abandoned.
        if (threads >= limits.threads || stopping) return;
        ++threads;
        continue;
      }
      running.erase(std::find(running.begin(), running.end(), task.ticket));
    }
    --threads;
    worker_ended.notify_all();
  }
};

Workers::Workers(Limits limits) : shared_(std::make_shared<Shared>(limits)) {
  const std::lock_guard lock(shared_->mutex);
  for (int i = 0; i < limits.threads; ++i)
    Shared::start_worker(shared_);
}

Workers::~Workers() {
  stop(kPartingGrace);
}

Workers::Ticket Workers::submit(std::function<void()> task) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->stopping || shared_->queue.size() >= shared_->limits.max_queued) {
    ++shared_->refused;
    return 0;
  }
  const Ticket ticket = shared_->next_ticket++;
  shared_->queue.push_back({ticket, std::move(task)});
  shared_->has_work.notify_one();
  return ticket;
}

bool Workers::abandon(Ticket ticket) {
  const std::lock_guard lock(shared_->mutex);
  auto& queue = shared_->queue;
  const auto queued =
      std::find_if(queue.begin(), queue.end(), [ticket](const auto& task) { return task.ticket == ticket; });
  if (queued != queue.end()) {
    queue.erase(queued);
    return true;
  }
  auto& running = shared_->running;
  const auto found = std::find(running.begin(), running.end(), ticket);
  if (found == running.end()) return false;
  running.erase(found);
  shared_->abandoned.push_back(ticket);
  --shared_->threads;
  shared_->worker_ended.notify_all();
  if (!shared_->stopping && static_cast<int>(shared_->abandoned.size()) <= shared_->limits.max_stuck)
    Shared::start_worker(shared_);
  return true;
}

bool Workers::stop(Duration grace) {
  std::unique_lock lock(shared_->mutex);
  shared_->stopping = true;
  shared_->queue.clear();
  shared_->has_work.notify_all();
  const bool ended = shared_->worker_ended.wait_for(lock, grace, [this] { return shared_->threads == 0; });
  return ended && shared_->abandoned.empty();
}

Workers::Counts Workers::counts() const {
  const std::lock_guard lock(shared_->mutex);
  return {shared_->threads, static_cast<int>(shared_->abandoned.size()), shared_->queue.size(),
          shared_->refused};
}

void Inbox::put(Finished one) {
  const std::lock_guard lock(mutex_);
  messages_.finished.push_back(std::move(one));
  if (wake_) wake_();
}

void Inbox::put(Committed one) {
  const std::lock_guard lock(mutex_);
  messages_.committed.push_back(one);
  if (wake_) wake_();
}

Inbox::Messages Inbox::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(messages_, {});
}

void Inbox::close() {
  const std::lock_guard lock(mutex_);
  wake_ = nullptr;
}

}  // namespace autopilot::runtime
