// SPDX-License-Identifier: Apache-2.0
#include "host/ethtool/ethtool_netlink.hpp"

#include <cerrno>
#include <functional>
#include <linux/ethtool_netlink.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>

#include "host/netlink/handles.hpp"

namespace autopilot::host {
namespace {

struct FreeCallbacks {
  void operator()(nl_cb* callbacks) const { nl_cb_put(callbacks); }
};

// What became of one question.
struct Outcome {
  bool is_over = false;
  int error = 0;           // errno of the kernel
  std::string attributes;  // of its answer
};

int on_answer(nl_msg* message, void* argument) {
  auto* outcome = static_cast<Outcome*>(argument);
  const auto* head = static_cast<const genlmsghdr*>(nlmsg_data(nlmsg_hdr(message)));
  outcome->attributes.assign(reinterpret_cast<const char*>(genlmsg_attrdata(head, 0)),
                             static_cast<std::size_t>(genlmsg_attrlen(head, 0)));
  return NL_OK;
}

int on_end(nl_msg* /*message*/, void* argument) {
  static_cast<Outcome*>(argument)->is_over = true;
  return NL_STOP;
}

// libnl has fewer codes than the kernel.
int on_error(sockaddr_nl* /*address*/, nlmsgerr* error, void* argument) {
  auto* outcome = static_cast<Outcome*>(argument);
  outcome->is_over = true;
  outcome->error = -error->error;
  return NL_STOP;
}

Error error_about(const std::string& interface, std::string_view what, int code) {
  const std::string text = interface + ": " + std::string(what);
  if (code == EPERM || code == EACCES) return {Errc::denied, text + ": needs CAP_NET_ADMIN"};
  // A page that is not there, or a port into which nothing can be plugged: drivers agree on no code for it.
  if (code == EINVAL || code == ENXIO) return {Errc::unsupported, text + ": the driver does not give that"};
  return fail_errno(code, text).value();
}

bool put_header(nl_msg* message, int attribute, const std::string& interface, std::uint32_t flags) {
  nlattr* nest = nla_nest_start(message, attribute | NLA_F_NESTED);
  if (nest == nullptr || nla_put_string(message, ETHTOOL_A_HEADER_DEV_NAME, interface.c_str()) < 0 ||
      (flags != 0 && nla_put_u32(message, ETHTOOL_A_HEADER_FLAGS, flags) < 0))
    return false;
  return nla_nest_end(message, nest) == 0;
}

}  // namespace

struct EthtoolNetlink::Socket {
  NetlinkSocket socket;
  int family = 0;

  [[nodiscard]] NetlinkMessage question(std::uint8_t command) const {
    NetlinkMessage message(nlmsg_alloc());
    if (message && genlmsg_put(message.get(), NL_AUTO_PORT, NL_AUTO_SEQ, family, 0, NLM_F_REQUEST | NLM_F_ACK,
                               command, ETHTOOL_GENL_VERSION) == nullptr)
      message.reset();
    return message;
  }

  // The attributes of the answer.
  [[nodiscard]] Result<std::string> ask(const NetlinkMessage& message, const std::string& interface,
                                        std::string_view what) const {
    Outcome outcome;
    const std::unique_ptr<nl_cb, FreeCallbacks> callbacks(nl_cb_alloc(NL_CB_DEFAULT));
    if (!callbacks) return fail(Errc::exhausted, "netlink: no memory");
    nl_cb_set(callbacks.get(), NL_CB_VALID, NL_CB_CUSTOM, on_answer, &outcome);
    nl_cb_set(callbacks.get(), NL_CB_ACK, NL_CB_CUSTOM, on_end, &outcome);
    nl_cb_err(callbacks.get(), NL_CB_CUSTOM, on_error, &outcome);
    if (const int code = nl_send_auto(socket.get(), message.get()); code < 0)
      return fail(Errc::unavailable, interface + ": netlink: " + nl_geterror(code));
    while (!outcome.is_over)
      if (const int code = nl_recvmsgs(socket.get(), callbacks.get()); code < 0 && !outcome.is_over)
        return fail(Errc::unavailable, interface + ": netlink: " + nl_geterror(code));
    if (outcome.error != 0) return fail(error_about(interface, what, outcome.error));
    return std::move(outcome.attributes);
  }
};

EthtoolNetlink::EthtoolNetlink(std::unique_ptr<Socket> socket) : socket_(std::move(socket)) {}
EthtoolNetlink::EthtoolNetlink(EthtoolNetlink&&) noexcept = default;
EthtoolNetlink& EthtoolNetlink::operator=(EthtoolNetlink&&) noexcept = default;
EthtoolNetlink::~EthtoolNetlink() = default;

Result<EthtoolNetlink> EthtoolNetlink::open() {
  auto opened = std::make_unique<Socket>();
  opened->socket.reset(nl_socket_alloc());
  if (!opened->socket) return fail(Errc::exhausted, "netlink: no socket");
  if (const int code = genl_connect(opened->socket.get()); code < 0)
    return fail(Errc::unavailable, std::string("netlink: ") + nl_geterror(code));
  opened->family = genl_ctrl_resolve(opened->socket.get(), ETHTOOL_GENL_NAME);
  if (opened->family < 0)
    return fail(Errc::unavailable, "this kernel has no ethtool over netlink (Linux 5.6 and later do)");
  return EthtoolNetlink(std::move(opened));
}

Result<PortLink> EthtoolNetlink::link(const std::string& interface) {
  const NetlinkMessage message = socket_->question(ETHTOOL_MSG_LINKSTATE_GET);
  if (!message || !put_header(message.get(), ETHTOOL_A_LINKSTATE_HEADER, interface, 0))
    return fail(Errc::exhausted, "netlink: no room for a question");
  return parse_link_attributes(TRY(socket_->ask(message, interface, "state of the link")));
}

Result<PortFec> EthtoolNetlink::fec(const std::string& interface) {
  const NetlinkMessage message = socket_->question(ETHTOOL_MSG_FEC_GET);
  if (!message || !put_header(message.get(), ETHTOOL_A_FEC_HEADER, interface, ETHTOOL_FLAG_STATS))
    return fail(Errc::exhausted, "netlink: no room for a question");
  return parse_fec_attributes(TRY(socket_->ask(message, interface, "error correction")));
}

Result<std::string> EthtoolNetlink::module_bytes(const std::string& interface, const ModulePlace& place,
                                                 std::size_t size) {
  const NetlinkMessage message = socket_->question(ETHTOOL_MSG_MODULE_EEPROM_GET);
  if (!message || !put_header(message.get(), ETHTOOL_A_MODULE_EEPROM_HEADER, interface, 0) ||
      nla_put_u32(message.get(), ETHTOOL_A_MODULE_EEPROM_OFFSET, place.offset) < 0 ||
      nla_put_u32(message.get(), ETHTOOL_A_MODULE_EEPROM_LENGTH, static_cast<std::uint32_t>(size)) < 0 ||
      nla_put_u8(message.get(), ETHTOOL_A_MODULE_EEPROM_PAGE, place.page) < 0 ||
      nla_put_u8(message.get(), ETHTOOL_A_MODULE_EEPROM_BANK, 0) < 0 ||
      nla_put_u8(message.get(), ETHTOOL_A_MODULE_EEPROM_I2C_ADDRESS, place.i2c_address) < 0)
    return fail(Errc::exhausted, "netlink: no room for a question");
  return parse_module_attributes(TRY(socket_->ask(message, interface, "memory of the module")));
}

}  // namespace autopilot::host
