// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <netlink/msg.h>
#include <netlink/socket.h>

// What libnl allocates, and frees again at the end.
namespace autopilot::host {

struct FreeNetlinkSocket {
  void operator()(nl_sock* socket) const { nl_socket_free(socket); }
};
using NetlinkSocket = std::unique_ptr<nl_sock, FreeNetlinkSocket>;

struct FreeNetlinkMessage {
  void operator()(nl_msg* message) const { nlmsg_free(message); }
};
using NetlinkMessage = std::unique_ptr<nl_msg, FreeNetlinkMessage>;

}  // namespace autopilot::host
