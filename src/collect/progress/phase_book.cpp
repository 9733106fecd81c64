// SPDX-License-Identifier: Apache-2.0
#include "collect/progress/phase_book.hpp"

#include <utility>

namespace autopilot::collect {

void PhaseBook::emit(jobs::Phase phase, jobs::Edge edge, WallTime time,
                     std::vector<jobs::Record>& records) const {
  records.emplace_back(
      jobs::PhaseRecord{.time = time, .job = job_, .rank = rank_, .phase = phase, .edge = edge});
}

void PhaseBook::add(const StatedPhase& stated, WallTime time, std::vector<jobs::Record>& records) {
  Book& book = books_[static_cast<std::size_t>(stated.phase)];
  const bool is_begin = stated.edge == jobs::Edge::begin;
  if (is_begin == book.is_open && is_begin) return;
  if (!is_begin && std::exchange(book.ended_by_step, false)) return;
  if (!book.is_open && !book.has_step && book.ended && time - *book.ended < kQuiet) return;
  book.is_open = is_begin;
  if (is_begin) {
    book.ended_by_step = false;
  } else {
    book.ended = time;
    book.has_step = false;
  }
  emit(stated.phase, stated.edge, time, records);
}

void PhaseBook::step(WallTime time, std::vector<jobs::Record>& records) {
  for (std::size_t i = 0; i < books_.size(); ++i) {
    Book& book = books_[i];
    book.has_step = true;
    if (!std::exchange(book.is_open, false)) continue;
    book.ended = time;
    book.ended_by_step = true;
    emit(static_cast<jobs::Phase>(i), jobs::Edge::end, time, records);
  }
}

}  // namespace autopilot::collect
