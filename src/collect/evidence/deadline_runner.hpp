// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

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
  [[nodiscard]] int abandoned() const;

 private:
  struct Count;
  std::shared_ptr<Count> count_ = make_count();
  static std::shared_ptr<Count> make_count();
};

}  // namespace autopilot::collect
