// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "nettest/echo/echo_socket.hpp"

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
  // Ignores an answer to a question that was never sent.
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
  std::uint16_t newest_ = 0;  // highest number of an answered question
};

// One address that is asked by ICMP.
struct EchoTarget {
  host::InternetAddress to;
  EchoTally tally;      // of ordinary questions
  EchoTally sized;      // of questions that search for the path MTU
  std::string problem;  // see PeerEcho
};

// A question that is to be sent.
struct EchoQuestion {
  std::size_t target = 0;  // of the targets
  std::size_t packet_bytes = 0;
};

// The sockets of a round, and how questions and answers pass through them.
class EchoExchange {
 public:
  // Questions that are due within so long are sent together, those of small packets.
  static constexpr Duration kBurst = std::chrono::milliseconds{2};

  // is_sized: answers belong to EchoTarget::sized.
  struct Pace {
    Duration gap{};       // from one question to the next
    Duration patience{};  // after the last one
    MonoTime deadline{};
    bool is_sized = false;
  };

  [[nodiscard]] static Result<EchoExchange> open();
  // denied or unsupported: why no address of that family can be asked. Call it before ask().
  [[nodiscard]] const Status& can_ask(bool is_ipv6);
  // Sends them in order, those for whose answers there is time, and listens until all of these are answered,
  // or the time is over. Answers that were too late for an exchange before still count. targets: the same at
  // each call.
  void ask(std::vector<EchoTarget>& targets, const std::vector<EchoQuestion>& questions, const Pace& pace);

 private:
  // Of one family.
  struct Door {
    bool is_tried = false;
    std::unique_ptr<EchoSocket> socket;
    Status state;  // why there is none
  };
  // A question that was sent.
  struct Open {
    std::size_t target = 0;
    std::uint16_t number = 0;
  };

  EchoExchange() = default;
  void send(std::vector<EchoTarget>& targets, const EchoQuestion& question, bool is_sized);
  void pause(std::vector<EchoTarget>& targets, MonoTime until);
  [[nodiscard]] bool wait_for_one(MonoTime until) const;
  [[nodiscard]] bool is_all_answered(std::vector<EchoTarget>& targets, bool is_sized);
  void take_all(std::vector<EchoTarget>& targets);
  void take_answer(const EchoSocket::Answer& answer, std::vector<EchoTarget>& targets) const;
  void take_complaints(EchoSocket& socket, std::vector<EchoTarget>& targets);

  std::array<Door, 2> doors_;  // of IPv4 and IPv6
  std::uint64_t round_ = 0;    // of ordinary questions
  std::uint64_t sized_round_ = 0;
  std::vector<Open> open_;                                    // of the current exchange
  std::size_t first_open_ = 0;                                // of these; those before are answered
  std::unordered_multimap<std::string, std::size_t> places_;  // targets by address; filled at the first error
};

}  // namespace autopilot::nettest
