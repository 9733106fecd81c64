// SPDX-License-Identifier: Apache-2.0

#include "nettest/echo/echo_exchange.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <poll.h>
#include <sys/random.h>
#include <system_error>
#include <utility>

#include "host/files/fd.hpp"
#include "nettest/echo/peer_echo.hpp"

namespace autopilot::nettest {

namespace {

// Bytes in flight at once: answers of that size wait in the socket until they are read.
constexpr std::size_t kBurstBytes = 65536;

EchoTally& tally_of(EchoTarget& target, bool is_sized) {
  return is_sized ? target.sized : target.tally;
}

// How many are sent at once, so that their pace is kept though this process sleeps between them.
std::size_t burst_of(const std::vector<EchoQuestion>& questions, Duration gap) {
  std::size_t largest = 1;
  for (const EchoQuestion& question : questions)
    largest = std::max(largest, question.packet_bytes);
  const auto by_time = static_cast<std::size_t>(EchoExchange::kBurst / std::max(gap, Duration{1}));
  return std::max<std::size_t>(1, std::min(by_time, kBurstBytes / largest));
}

}  // namespace

Result<EchoExchange> EchoExchange::open() {
  EchoExchange exchange;
  std::array<std::uint64_t, 2> random{};
  if (::getrandom(random.data(), sizeof random, 0) != sizeof random) return fail_errno(errno, "getrandom");
  exchange.round_ = random[0];
  exchange.sized_round_ = random[1];
  return exchange;
}

const Status& EchoExchange::can_ask(bool is_ipv6) {
  Door& door = doors_[is_ipv6 ? 1 : 0];
  if (std::exchange(door.is_tried, true)) return door.state;
  auto socket = EchoSocket::open(is_ipv6);
  if (socket)
    door.socket = *std::move(socket);
  else
    door.state = fail(std::move(socket).error());
  return door.state;
}

// What is late is late: nothing is sent sooner after it to make up for that.
void EchoExchange::ask(std::vector<EchoTarget>& targets, const std::vector<EchoQuestion>& questions,
                       const Pace& pace) {
  const std::size_t burst = burst_of(questions, pace.gap);
  const MonoTime last = pace.deadline - pace.patience;
  MonoTime due = host::mono_now();
  open_.clear();
  first_open_ = 0;
  for (std::size_t first = 0; first < questions.size(); first += burst) {
    pause(targets, std::min(due, last));
    if (host::mono_now() >= last) break;
    const std::size_t end = std::min(questions.size(), first + burst);
    for (std::size_t i = first; i < end; ++i)
      send(targets, questions[i], pace.is_sized);
    due = host::mono_now() + pace.gap * static_cast<Duration::rep>(end - first);
  }
  const MonoTime end = std::min(host::mono_now() + pace.patience, pace.deadline);
  take_all(targets);
  while (!is_all_answered(targets, pace.is_sized) && wait_for_one(end))
    take_all(targets);
}

void EchoExchange::send(std::vector<EchoTarget>& targets, const EchoQuestion& question, bool is_sized) {
  EchoTarget& target = targets[question.target];
  EchoSocket* const socket = doors_[target.to.is_ipv6() ? 1 : 0].socket.get();
  if (socket == nullptr) return;
  EchoTally& tally = tally_of(target, is_sized);
  const EchoLabel label{.round = is_sized ? sized_round_ : round_,
                        .target = static_cast<std::uint32_t>(question.target),
                        .number = tally.note_sent(host::mono_now())};
  int error = socket->send(target.to, label, question.packet_bytes);
  // The kernel reports the error of an earlier question at the next send, whatever its target.
  if (error != 0) {
    take_complaints(*socket, targets);
    error = socket->send(target.to, label, question.packet_bytes);
  }
  if (error == 0) open_.push_back({question.target, label.number});
  // A sized question that is too large to be sent stays unanswered, which is its result.
  if (error == 0 || (is_sized && !is_own_trouble(error))) return;
  tally.forget_last();
  if (is_own_trouble(error)) return;
  target.problem = std::generic_category().message(error);
}

// In a short one nothing is read before its end: the kernel notes when an answer came.
void EchoExchange::pause(std::vector<EchoTarget>& targets, MonoTime until) {
  while (until - host::mono_now() > kBurst && wait_for_one(until))
    take_all(targets);
  (void)host::poll_until({}, until);
  take_all(targets);
}

bool EchoExchange::wait_for_one(MonoTime until) const {
  std::array<pollfd, 2> descriptors{};
  for (std::size_t i = 0; i < descriptors.size(); ++i) {
    const auto& socket = doors_.at(i).socket;
    descriptors.at(i) = {.fd = socket ? socket->fd() : -1, .events = POLLIN, .revents = 0};
  }
  return host::poll_until(descriptors, until);
}

bool EchoExchange::is_all_answered(std::vector<EchoTarget>& targets, bool is_sized) {
  while (first_open_ < open_.size() &&
         tally_of(targets[open_[first_open_].target], is_sized).is_answered(open_[first_open_].number))
    ++first_open_;
  return first_open_ == open_.size();
}

void EchoExchange::take_all(std::vector<EchoTarget>& targets) {
  for (const Door& door : doors_) {
    if (!door.socket) continue;
    take_complaints(*door.socket, targets);
    door.socket->receive([&](const EchoSocket::Answer& answer) { take_answer(answer, targets); });
  }
}

void EchoExchange::take_answer(const EchoSocket::Answer& answer, std::vector<EchoTarget>& targets) const {
  const EchoLabel& label = answer.label;
  if ((label.round != round_ && label.round != sized_round_) || label.target >= targets.size()) return;
  EchoTarget& target = targets[label.target];
  // An answer from another address is not an answer of the target.
  if (!(answer.from == target.to)) return;
  tally_of(target, label.round == sized_round_).note_answer(label.number, answer.at);
}

void EchoExchange::take_complaints(EchoSocket& socket, std::vector<EchoTarget>& targets) {
  EchoSocket::Complaint complaint;
  while (socket.receive_complaint(complaint)) {
    // EMSGSIZE: sized questions exceed the path MTU on purpose.
    if (complaint.error == EMSGSIZE || complaint.error == 0) continue;
    if (places_.empty())
      for (std::size_t place = 0; place < targets.size(); ++place)
        places_.emplace(host::address_bytes(*targets[place].to.get()), place);
    const auto [begin, end] = places_.equal_range(host::address_bytes(*complaint.about.get()));
    for (auto at = begin; at != end; ++at)
      targets[at->second].problem = std::generic_category().message(complaint.error);
  }
}

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
