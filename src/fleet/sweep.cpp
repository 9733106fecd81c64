// SPDX-License-Identifier: Apache-2.0
#include "fleet/sweep.hpp"

#include <utility>

namespace autopilot::fleet {

struct Sweep::Asked {
  Asked(net::EventLoop& loop, const Question& question, std::size_t answer_bytes)
      : session(loop, question.url, question.tls, {.body_bytes = answer_bytes, .connections = 1, .kept = 0}) {
  }

  net::HttpSession session;
  net::Exchange exchange;
};

Sweep::Sweep(net::EventLoop& loop, std::vector<Question> questions, SweepLimits limits, Listener listener)
    : loop_(loop),
      questions_(std::move(questions)),
      limits_(limits),
      listener_(std::move(listener)),
      start_(loop.after(Duration{0}, [this] { ask_more(); })) {}

Sweep::~Sweep() = default;

void Sweep::ask_more() {
  while (asked_.size() < limits_.at_once && next_ < questions_.size()) {
    const std::size_t number = next_++;
    Question& question = questions_[number];
    auto asked = std::make_unique<Asked>(loop_, question, limits_.answer_bytes);
    asked->exchange = asked->session.send(
        std::move(question.request), limits_.deadline,
        [this, number](Result<net::HttpResponse> answer) { take(number, std::move(answer)); });
    asked_.emplace(number, std::move(asked));
  }
  if (!asked_.empty()) return;
  // The callback can destroy this object.
  const auto on_end = listener_.on_end;
  on_end();
}

void Sweep::take(std::size_t question, Result<net::HttpResponse> answer) {
  asked_.erase(question);
  listener_.on_answer(question, std::move(answer));
  ask_more();
}

}  // namespace autopilot::fleet
