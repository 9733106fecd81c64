// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "host/files/fd.hpp"
#include "host/peers/echo_message.hpp"
#include "host/peers/internet_address.hpp"

namespace autopilot::host {

// A socket for echoes of one family. Of a datagram socket (no right but the group range of
// net.ipv4.ping_group_range), or of a raw one (CAP_NET_RAW) where the kernel gives no other.
class EchoSocket {
 public:
  struct Answer {
    InternetAddress from;
    EchoLabel label;
  };
  // What this machine or a router said to something that was sent.
  struct Complaint {
    InternetAddress about;
    int error = 0;  // errno: EHOSTUNREACH, EMSGSIZE, ...
  };

  // denied: neither kind is allowed; names what would allow it. unsupported: no such family here.
  [[nodiscard]] static Result<EchoSocket> open(bool is_ipv6);

  // No packet is cut into fragments. 0, or the errno that says why nothing was sent.
  [[nodiscard]] int send(const InternetAddress& to, const EchoLabel& label, std::size_t packet_bytes);
  // The next answer that has come, whoever asked; false: none has.
  [[nodiscard]] bool receive(Answer& answer);
  [[nodiscard]] bool receive_complaint(Complaint& complaint);

  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  EchoSocket(Fd fd, bool is_ipv6, bool is_raw, std::uint16_t id);
  [[nodiscard]] std::optional<EchoLabel> label_of(std::string_view packet) const;

  Fd fd_;
  bool is_ipv6_;
  bool is_raw_;
  std::uint16_t id_;  // of a raw socket; the kernel has one for each of the others
  std::vector<char> buffer_;
};

}  // namespace autopilot::host
