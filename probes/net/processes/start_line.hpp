// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/clock.hpp"
#include "core/result.hpp"

namespace autopilot::probes::net {

// Barrier of several processes. It is a pipe of which each process holds an end: a waiting process has closed
// its end, and so has a process that ended. For programs with one thread.
class StartLine {
 public:
  [[nodiscard]] static Result<std::unique_ptr<StartLine>> create();
  StartLine(const StartLine&) = delete;
  StartLine& operator=(const StartLine&) = delete;
  ~StartLine();

  // In the process that starts the others, after it has started the last one: it does not take part.
  void step_aside();
  // In each of the others: waits until all wait here or have ended, or for that time.
  void wait(Duration most);

 private:
  StartLine(int reader, int writer) : reader_(reader), writer_(writer) {}

  int reader_;
  int writer_;  // -1: closed
};

}  // namespace autopilot::probes::net
