// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/clock.hpp"
#include "core/result.hpp"

namespace autopilot::collect {

// Runs calls that may hang in the kernel, each on a thread of its own that is abandoned at the deadline. An
// abandoned call ends when the kernel returns, and its result is dropped. Thread-safe.
class DeadlineRunner {
 public:
  static constexpr int kMaxAbandoned = 4;

  // What `work` returns. timed_out: it has not returned by the deadline; so `work` keeps what it uses.
  // exhausted: kMaxAbandoned calls hang.
  [[nodiscard]] Result<std::string> run(std::function<Result<std::string>()> work, MonoTime deadline);
  // The same for another result.
  template <class T>
  [[nodiscard]] Result<T> run_for(std::function<Result<T>()> work, MonoTime deadline);
  [[nodiscard]] int abandoned() const;

 private:
  struct Count;
  std::shared_ptr<Count> count_ = make_count();
  static std::shared_ptr<Count> make_count();
};

template <class T>
Result<T> DeadlineRunner::run_for(std::function<Result<T>()> work, MonoTime deadline) {
  const auto made = std::make_shared<std::optional<T>>();  // an abandoned call still writes it
  const auto done = run(
      [made, work = std::move(work)]() -> Result<std::string> {
        *made = TRY(work());
        return std::string();
      },
      deadline);
  if (!done) return fail(done.error());
  return *std::move(*made);
}

}  // namespace autopilot::collect
