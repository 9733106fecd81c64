// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace autopilot::collect {

// Does tasks that may block one after the other, on a thread of its own. All methods return at once.
// Thread-safe. The destructor does not wait: the task that runs is completed, the others are dropped. What
// `work` uses must therefore live as long as `work`.
template <class Task, class Outcome>
class TaskThread {
 public:
  static constexpr std::size_t kMostOutcomes = 256;  // that wait for take(); further ones are dropped
  using Work = std::function<Outcome(Task)>;

  TaskThread(std::size_t most_waiting, Work work) : state_(std::make_shared<State>()) {
    state_->most_waiting = most_waiting;
    state_->work = std::move(work);
    std::thread([state = state_] { run(*state); }).detach();
  }
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;
  ~TaskThread() {
    const std::lock_guard lock(state_->mutex);
    state_->is_stopped = true;
    state_->changed.notify_all();
  }

  // False: `most_waiting` tasks wait already; this one is dropped.
  [[nodiscard]] bool add(Task task) {
    const std::lock_guard lock(state_->mutex);
    if (state_->tasks.size() >= state_->most_waiting) return false;
    state_->tasks.push_back(std::move(task));
    state_->changed.notify_all();
    return true;
  }
  // Since the last call, in the order of the tasks.
  [[nodiscard]] std::vector<Outcome> take() {
    const std::lock_guard lock(state_->mutex);
    return std::exchange(state_->outcomes, {});
  }

 private:
  struct State {
    std::size_t most_waiting = 0;
    Work work;
    std::mutex mutex;  // guards all members below; not held during work
    std::condition_variable changed;
    std::deque<Task> tasks;  // that have not begun
    std::vector<Outcome> outcomes;
    bool is_stopped = false;
  };

  static void run(State& state) {
    std::unique_lock lock(state.mutex);
    while (true) {
      state.changed.wait(lock, [&] { return state.is_stopped || !state.tasks.empty(); });
      if (state.is_stopped) return;
      Task task = std::move(state.tasks.front());
      state.tasks.pop_front();
      lock.unlock();
      Outcome outcome = state.work(std::move(task));
      lock.lock();
      if (state.outcomes.size() < kMostOutcomes) state.outcomes.push_back(std::move(outcome));
    }
  }

  std::shared_ptr<State> state_;
};

}  // namespace autopilot::collect
