// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/peers/echo_socket.hpp"
#include "host/peers/echo_tally.hpp"

namespace autopilot::host {

// One address that is asked by ICMP.
struct EchoTarget {
  InternetAddress to;
  EchoTally tally;      // of ordinary questions
  EchoTally sized;      // of those that look for the largest packet
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
  // is_sized: answers belong to EchoTarget::sized.
  struct Pace {
    Duration gap{};       // from one question to the next
    Duration patience{};  // after the last one
    MonoTime deadline{};
    bool is_sized = false;
  };

  [[nodiscard]] static Result<EchoExchange> open();
  // denied or unsupported: why nobody of that family can be asked.
  [[nodiscard]] const Status& can_ask(bool is_ipv6) const { return is_ipv6 ? ipv6_.state : ipv4_.state; }
  // Sends them in order and listens until all that were asked have answered all, or the time is over. Those
  // that were too late for an exchange before still count.
  void ask(std::vector<EchoTarget>& targets, const std::vector<EchoQuestion>& questions, const Pace& pace);

 private:
  struct Door {
    std::unique_ptr<EchoSocket> socket;  // null: nobody of that family can be asked
    Status state;
  };

  EchoExchange() = default;
  [[nodiscard]] static Door open_door(bool is_ipv6);
  void send(std::vector<EchoTarget>& targets, const EchoQuestion& question, bool is_sized);
  void listen(std::vector<EchoTarget>& targets, MonoTime until);
  void take_all(std::vector<EchoTarget>& targets);
  void take_answers(EchoSocket& socket, std::vector<EchoTarget>& targets) const;
  static void take_complaints(EchoSocket& socket, std::vector<EchoTarget>& targets);

  Door ipv4_;
  Door ipv6_;
  std::uint64_t round_ = 0;        // of ordinary questions
  std::uint64_t sized_round_ = 0;  // of the others
};

}  // namespace autopilot::host
