// SPDX-License-Identifier: Apache-2.0
#include "host/netlink/route_mtu.hpp"

#include <cstdint>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <string>

#include "host/netlink/handles.hpp"

namespace autopilot::host {
namespace {

int on_route(nl_msg* message, void* argument) {
  nlattr* const metrics = nlmsg_find_attr(nlmsg_hdr(message), sizeof(rtmsg), RTA_METRICS);
  if (metrics == nullptr) return NL_STOP;
  const nlattr* const mtu =
      nla_find(static_cast<const nlattr*>(nla_data(metrics)), nla_len(metrics), RTAX_MTU);
  if (mtu != nullptr && nla_len(mtu) == sizeof(std::uint32_t))
    *static_cast<unsigned*>(argument) = nla_get_u32(mtu);
  return NL_STOP;
}

// For the entry itself, not for what the kernel would do with a packet.
NetlinkMessage question_about(const InternetAddress& to) {
  NetlinkMessage question(nlmsg_alloc_simple(RTM_GETROUTE, NLM_F_REQUEST));
  if (!question) return nullptr;
  const std::string address = address_bytes(*to.get());
  rtmsg route{};
  route.rtm_family = static_cast<unsigned char>(to.storage.ss_family);
  route.rtm_dst_len = static_cast<unsigned char>(8 * address.size());
  route.rtm_flags = RTM_F_FIB_MATCH;
  if (nlmsg_append(question.get(), &route, sizeof route, NLMSG_ALIGNTO) < 0 ||
      nla_put(question.get(), RTA_DST, static_cast<int>(address.size()), address.data()) < 0)
    return nullptr;
  return question;
}

}  // namespace

unsigned route_mtu(const InternetAddress& to) {
  const NetlinkSocket socket(nl_socket_alloc());
  const NetlinkMessage question = question_about(to);
  if (!socket || !question || nl_connect(socket.get(), NETLINK_ROUTE) < 0) return 0;
  unsigned mtu = 0;
  nl_socket_disable_auto_ack(socket.get());
  nl_socket_modify_cb(socket.get(), NL_CB_VALID, NL_CB_CUSTOM, on_route, &mtu);
  if (nl_send_auto(socket.get(), question.get()) < 0 || nl_recvmsgs_default(socket.get()) < 0) return 0;
  return mtu;
}

}  // namespace autopilot::host
