// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "core/clock.hpp"

namespace autopilot::collect {

// One thread for one kind of read that may block. It takes one request at a time; while it works, further
// requests are refused, so that a read that hangs is not repeated. All methods return at once.
//
// The destructor waits for a running read, at most kPatience; then the thread is abandoned and ends when its
// read returns. What `work` uses must therefore live as long as `work`.
template <class Request, class Answer>
class Lane {
 public:
  static constexpr Duration kPatience = std::chrono::seconds(2);
  using Work = std::function<Answer(const Request&)>;

  explicit Lane(Work work) : state_(std::make_shared<State>()) {
    state_->work = std::move(work);
    thread_ = std::thread([state = state_] { run(*state); });
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  ~Lane() {
    std::unique_lock lock(state_->mutex);
    state_->is_stopping = true;
    state_->changed.notify_all();
    const bool has_ended = state_->changed.wait_for(lock, kPatience, [this] { return state_->has_ended; });
    lock.unlock();
    if (has_ended)
      thread_.join();
    else
      thread_.detach();
  }

  // False: the last request has no answer yet, or its answer was not taken.
  bool ask(const Request& request) {
    const std::lock_guard lock(state_->mutex);
    if (state_->request || state_->answer) return false;
    state_->request = request;
    state_->changed.notify_all();
    return true;
  }
  // The answer to the last request, once.
  [[nodiscard]] std::optional<Answer> take() {
    const std::lock_guard lock(state_->mutex);
    return std::exchange(state_->answer, std::nullopt);
  }
  [[nodiscard]] bool is_busy() const {
    const std::lock_guard lock(state_->mutex);
    return state_->request.has_value();
  }

 private:
  struct State {
    Work work;
    std::mutex mutex;  // guards all members below; not held during work
    std::condition_variable changed;
    std::optional<Request> request;  // until it is answered
    std::optional<Answer> answer;
    bool is_stopping = false;
    bool has_ended = false;
  };

  static void run(State& state) {
    std::unique_lock lock(state.mutex);
    while (true) {
      state.changed.wait(lock, [&] { return state.request.has_value() || state.is_stopping; });
      if (state.is_stopping) break;
      const Request request = *state.request;
      lock.unlock();
      Answer answer = state.work(request);
      lock.lock();
      state.request.reset();
      state.answer = std::move(answer);
    }
    state.has_ended = true;
    state.changed.notify_all();
  }

  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace autopilot::collect
