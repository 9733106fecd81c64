// SPDX-License-Identifier: Apache-2.0
#include "nettest/echo/echo_tally.hpp"

#include <algorithm>

namespace autopilot::nettest {
namespace {

// The nearest rank: the smallest of the values that `share` of them do not exceed.
Duration quantile(const std::vector<Duration>& sorted, double share) {
  const auto count = static_cast<double>(sorted.size());
  const auto rank = static_cast<std::size_t>(std::max(1.0, std::min(count, share * count + 0.999999)));
  return sorted[rank - 1];
}

}  // namespace

std::uint16_t EchoTally::note_sent(MonoTime at) {
  questions_.push_back({.sent = at});
  return static_cast<std::uint16_t>(questions_.size() - 1);
}

void EchoTally::forget_last() {
  if (!questions_.empty() && questions_.back().took < Duration{0}) questions_.pop_back();
}

void EchoTally::note_answer(std::uint16_t number, MonoTime at) {
  if (number >= questions_.size()) return;
  Question& question = questions_[number];
  if (question.took >= Duration{0}) {
    ++duplicates_;
    return;
  }
  question.took = std::max(Duration{0}, at - question.sent);
  if (answered_ > 0 && number < newest_) ++out_of_order_;
  newest_ = std::max(newest_, number);
  ++answered_;
}

bool EchoTally::is_answered(std::uint16_t number) const {
  return number < questions_.size() && questions_[number].took >= Duration{0};
}

EchoFigures EchoTally::figures() const {
  EchoFigures figures{.sent = static_cast<unsigned>(questions_.size()),
                      .answered = static_cast<unsigned>(answered_),
                      .duplicates = duplicates_,
                      .out_of_order = out_of_order_};
  std::vector<Duration> took;
  for (const Question& question : questions_)
    if (question.took >= Duration{0}) took.push_back(question.took);
  if (took.empty()) return figures;
  std::ranges::sort(took);
  figures.shortest = took.front();
  figures.median = quantile(took, 0.5);
  figures.p99 = quantile(took, 0.99);
  figures.longest = took.back();
  return figures;
}

}  // namespace autopilot::nettest
