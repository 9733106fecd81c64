// SPDX-License-Identifier: Apache-2.0
#include "host/peers/echo_exchange.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <poll.h>
#include <sys/random.h>
#include <system_error>

#include "host/process/poll.hpp"

namespace autopilot::host {
namespace {

EchoTally& tally_of(EchoTarget& target, bool is_sized) {
  return is_sized ? target.sized : target.tally;
}

bool is_all_answered(const std::vector<EchoTarget>& targets, const std::vector<EchoQuestion>& questions,
                     bool is_sized) {
  return std::ranges::all_of(questions, [&](const EchoQuestion& question) {
    const EchoTarget& target = targets[question.target];
    return (is_sized ? target.sized : target.tally).is_all_answered();
  });
}

}  // namespace

EchoExchange::Door EchoExchange::open_door(bool is_ipv6) {
  auto socket = EchoSocket::open(is_ipv6);
  if (!socket) return {.socket = nullptr, .state = fail(socket.error())};
  return {.socket = std::make_unique<EchoSocket>(*std::move(socket)), .state = {}};
}

Result<EchoExchange> EchoExchange::open() {
  EchoExchange exchange;
  std::array<std::uint64_t, 2> random{};
  if (::getrandom(random.data(), sizeof random, 0) != sizeof random) return fail_errno(errno, "getrandom");
  exchange.round_ = random[0];
  exchange.sized_round_ = random[1];
  exchange.ipv4_ = open_door(false);
  exchange.ipv6_ = open_door(true);
  return exchange;
}

void EchoExchange::ask(std::vector<EchoTarget>& targets, const std::vector<EchoQuestion>& questions,
                       const Pace& pace) {
  MonoTime due = mono_now();
  for (const EchoQuestion& question : questions) {
    listen(targets, std::min(due, pace.deadline));
    if (mono_now() >= pace.deadline) return;
    send(targets, question, pace.is_sized);
    due += pace.gap;
  }
  const MonoTime end = std::min(mono_now() + pace.patience, pace.deadline);
  while (!is_all_answered(targets, questions, pace.is_sized) && mono_now() < end)
    listen(targets, std::min(end, mono_now() + pace.patience / 16));
}

void EchoExchange::send(std::vector<EchoTarget>& targets, const EchoQuestion& question, bool is_sized) {
  EchoTarget& target = targets[question.target];
  Door& door = target.to.is_ipv6() ? ipv6_ : ipv4_;
  if (!door.socket) return;
  EchoTally& tally = tally_of(target, is_sized);
  const EchoLabel label{.round = is_sized ? sized_round_ : round_,
                        .target = static_cast<std::uint32_t>(question.target),
                        .number = tally.note_sent(mono_now())};
  int error = door.socket->send(target.to, label, question.packet_bytes);
  // What became of an earlier question is told at the next one, whomever that is for.
  if (error != 0) {
    take_complaints(*door.socket, targets);
    error = door.socket->send(target.to, label, question.packet_bytes);
  }
  if (error == 0 || is_sized) return;
  tally.forget_last();
  // What this machine has run out of, or forbids, says nothing about the other one.
  if (error == EAGAIN || error == ENOBUFS || error == ENOMEM || error == EPERM || error == EACCES) return;
  target.problem = std::generic_category().message(error);
}

// Returns at once when the time has passed already, having taken what is there.
void EchoExchange::listen(std::vector<EchoTarget>& targets, MonoTime until) {
  std::array<pollfd, 2> descriptors{};
  for (std::size_t i = 0; i < descriptors.size(); ++i) {
    const auto& socket = (i == 0 ? ipv4_ : ipv6_).socket;
    descriptors[i] = {.fd = socket ? socket->fd() : -1, .events = POLLIN, .revents = 0};
  }
  while (poll_until(descriptors, until)) {
    take_all(targets);
    if (mono_now() >= until) return;
  }
}

void EchoExchange::take_all(std::vector<EchoTarget>& targets) {
  for (Door* const door : {&ipv4_, &ipv6_}) {
    if (!door->socket) continue;
    take_complaints(*door->socket, targets);
    take_answers(*door->socket, targets);
  }
}

void EchoExchange::take_answers(EchoSocket& socket, std::vector<EchoTarget>& targets) const {
  EchoSocket::Answer answer;
  while (socket.receive(answer)) {
    const EchoLabel& label = answer.label;
    if ((label.round != round_ && label.round != sized_round_) || label.target >= targets.size()) continue;
    EchoTarget& target = targets[label.target];
    // From another address it is somebody else who answers.
    if (!(answer.from == target.to)) continue;
    tally_of(target, label.round == sized_round_).note_answer(label.number, mono_now());
  }
}

void EchoExchange::take_complaints(EchoSocket& socket, std::vector<EchoTarget>& targets) {
  EchoSocket::Complaint complaint;
  while (socket.receive_complaint(complaint)) {
    // Of a packet that is too large: those are sent to find that out.
    if (complaint.error == EMSGSIZE || complaint.error == 0) continue;
    for (EchoTarget& target : targets)
      if (target.to == complaint.about) target.problem = std::generic_category().message(complaint.error);
  }
}

}  // namespace autopilot::host
