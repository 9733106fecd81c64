// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collect/progress/log_lines.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "jobs/records.hpp"

namespace autopilot::collect {

// Reads how far a job got from the lines of one of its logs: known forms of frameworks, event lines, a
// pattern that the user states, or a number that rises by a constant. One counter of the log leads; the
// others are ignored until they prove better. A step is emitted once, whichever ranks print it, with the time
// of its line. An open phase ends with the next step, because many programs print only its beginning. Any
// lines are accepted. Bounded. Not thread-safe.
class StepLines {
 public:
  static constexpr std::size_t kMaxCounters = 16;
  static constexpr std::size_t kMaxPattern = 1024;  // bytes

  struct Owner {
    std::string job;
    std::optional<int> rank;  // of the records; not set: the log belongs to several ranks
  };

  // `pattern`: a regular expression (RE2) with the named group `step` and, where the line states them,
  // `loss`, `step_s` (seconds) and `tokens` (of the step). Empty: none. malformed: not such an expression.
  [[nodiscard]] static Result<StepLines> create(Owner owner, std::string_view pattern = {});
  StepLines(StepLines&&) noexcept;
  StepLines& operator=(StepLines&&) noexcept;
  ~StepLines();

  // Appends StepRecord and PhaseRecord.
  void add(const LogLine& line, std::vector<jobs::Record>& records);

 private:
  class State;
  explicit StepLines(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace autopilot::collect
