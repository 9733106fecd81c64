// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collect/progress/step_patterns.hpp"
#include "core/clock.hpp"
#include "jobs/records.hpp"

namespace autopilot::collect {

// Turns what lines state about phases into one beginning and one end of each: ranks that share a log repeat
// them, and many programs state only one edge. Not thread-safe.
class PhaseBook {
 public:
  // A phase that ended is not opened again within this time, unless a step ended between.
  static constexpr Duration kQuiet = std::chrono::seconds{60};

  PhaseBook(std::string job, std::optional<int> rank) : job_(std::move(job)), rank_(rank) {}

  void add(const StatedPhase& stated, WallTime time, std::vector<jobs::Record>& records);
  // A step of training ended: so did every open phase.
  void step(WallTime time, std::vector<jobs::Record>& records);
  [[nodiscard]] bool is_open(jobs::Phase phase) const { return book(phase).is_open; }

 private:
  struct Book {
    bool is_open = false;
    bool ended_by_step = false;  // its stated end may follow, if it went on in the background
    bool has_step = true;        // since it ended
    std::optional<WallTime> ended;
  };
  [[nodiscard]] const Book& book(jobs::Phase phase) const { return books_[static_cast<std::size_t>(phase)]; }
  void emit(jobs::Phase phase, jobs::Edge edge, WallTime time, std::vector<jobs::Record>& records) const;

  std::string job_;
  std::optional<int> rank_;
  std::array<Book, 6> books_;
};

}  // namespace autopilot::collect
