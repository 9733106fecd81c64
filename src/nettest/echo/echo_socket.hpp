// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/files/fd.hpp"
#include "host/netlink/internet_address.hpp"
#include "nettest/echo/echo_message.hpp"

namespace autopilot::nettest {

// A socket for echoes of one family: a datagram socket (no right but the group range of
// net.ipv4.ping_group_range), or a raw one where the kernel gives no other. The kernel keeps the raw one to
// CAP_NET_RAW, which no container of the chart has: there it is a datagram socket or none.
class EchoSocket {
 public:
  struct Answer {
    host::InternetAddress from;
    EchoLabel label;
    MonoTime at{};  // when the kernel received it; without its timestamp, when it was read
  };
  // Error that this machine or a router reports for a sent packet.
  struct Complaint {
    host::InternetAddress about;
    int error = 0;  // errno: EHOSTUNREACH, EMSGSIZE, ...
  };

  // denied: neither kind is allowed; names what would allow it. unsupported: no such family here.
  [[nodiscard]] static Result<std::unique_ptr<EchoSocket>> open(bool is_ipv6);
  EchoSocket(const EchoSocket&) = delete;
  EchoSocket& operator=(const EchoSocket&) = delete;
  ~EchoSocket();

  // Sends without fragmentation. Returns 0, or the errno of the failure.
  [[nodiscard]] int send(const host::InternetAddress& to, const EchoLabel& label, std::size_t packet_bytes);
  // Takes all answers that have come, also answers to other programs.
  void receive(const std::function<void(const Answer& answer)>& take);
  [[nodiscard]] bool receive_complaint(Complaint& complaint);

  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  struct Inbox;

  EchoSocket(host::Fd fd, bool is_ipv6, bool is_raw, std::uint16_t id);
  [[nodiscard]] std::optional<EchoLabel> label_of(std::string_view packet) const;

  host::Fd fd_;
  bool is_ipv6_;
  bool is_raw_;
  std::uint16_t id_;  // of a raw socket; the kernel has one for each of the others
  std::unique_ptr<Inbox> inbox_;
};

}  // namespace autopilot::nettest
