// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/clock.hpp"

namespace autopilot::nettest {

// What became of the questions to one address.
struct EchoFigures {
  unsigned sent = 0;
  unsigned answered = 0;
  unsigned duplicates = 0;    // answers beyond the first to the same question
  unsigned out_of_order = 0;  // answered later than a question that was sent later
  // From a question to its answer; 0 where none was answered.
  Duration shortest{0};
  Duration median{0};
  Duration p99{0};
  Duration longest{0};

  friend bool operator==(const EchoFigures&, const EchoFigures&) = default;
};

// The questions to one address, numbered from 0 in the order in which they are sent. Pure.
class EchoTally {
 public:
  // The number of the question.
  std::uint16_t note_sent(MonoTime at);
  // The last one was not sent after all.
  void forget_last();
  // An answer to a question that was never sent is nothing.
  void note_answer(std::uint16_t number, MonoTime at);

  [[nodiscard]] bool is_answered(std::uint16_t number) const;
  [[nodiscard]] bool is_all_answered() const { return answered_ == questions_.size(); }
  [[nodiscard]] std::size_t sent() const { return questions_.size(); }
  [[nodiscard]] EchoFigures figures() const;

 private:
  struct Question {
    MonoTime sent{};
    Duration took{-1};  // below 0: no answer
  };

  std::vector<Question> questions_;
  std::size_t answered_ = 0;
  unsigned duplicates_ = 0;
  unsigned out_of_order_ = 0;
  std::uint16_t newest_ = 0;  // of those that were answered
};

}  // namespace autopilot::nettest
