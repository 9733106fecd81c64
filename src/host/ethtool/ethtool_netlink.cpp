// SPDX-License-Identifier: Apache-2.0
#include "host/ethtool/ethtool_netlink.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>
#include <netlink/attr.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <optional>
#include <span>
#include <string_view>

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

namespace {

// The attributes of one answer, by their number.
template <int Last>
class Attributes {
 public:
  static Result<Attributes> parse(std::string_view bytes) {
    Attributes attributes;
    // libnl does not write to what it parses, although its parameter is not const.
    auto* head = reinterpret_cast<nlattr*>(const_cast<char*>(bytes.data()));
    if (nla_parse(attributes.found_.data(), Last, head, static_cast<int>(bytes.size()), nullptr) < 0)
      return fail(Errc::malformed, "ethtool: attributes that cannot be read");
    return attributes;
  }

  [[nodiscard]] std::optional<std::string_view> bytes(int number) const {
    const nlattr* attribute = found_.at(static_cast<std::size_t>(number));
    if (attribute == nullptr) return std::nullopt;
    return std::string_view(static_cast<const char*>(nla_data(attribute)),
                            static_cast<std::size_t>(nla_len(attribute)));
  }
  // The first T of the attribute; nothing where it is missing or shorter.
  template <class T>
  [[nodiscard]] std::optional<T> number(int number) const {
    const auto data = bytes(number);
    if (!data || data->size() < sizeof(T)) return std::nullopt;
    T value{};
    std::memcpy(&value, data->data(), sizeof value);
    return value;
  }

 private:
  std::array<nlattr*, std::size_t{Last} + 1> found_{};
};

std::string fec_mode(std::uint32_t link_mode) {
  switch (link_mode) {
    case ETHTOOL_LINK_MODE_FEC_NONE_BIT:
      return "off";
    case ETHTOOL_LINK_MODE_FEC_BASER_BIT:
      return "baser";
    case ETHTOOL_LINK_MODE_FEC_RS_BIT:
      return "rs";
    case ETHTOOL_LINK_MODE_FEC_LLRS_BIT:
      return "llrs";
    default:
      return std::to_string(link_mode);
  }
}

}  // namespace

Result<PortLink> parse_link_attributes(std::string_view attributes) {
  const auto found = TRY(Attributes<ETHTOOL_A_LINKSTATE_MAX>::parse(attributes));
  PortLink link;
  if (const auto reason = found.number<std::uint8_t>(ETHTOOL_A_LINKSTATE_EXT_STATE)) {
    link.reason = link_reason(*reason);
    link.detail =
        link_detail(*reason, found.number<std::uint8_t>(ETHTOOL_A_LINKSTATE_EXT_SUBSTATE).value_or(0));
  }
  if (const auto quality = found.number<std::uint32_t>(ETHTOOL_A_LINKSTATE_SQI))
    link.signal_quality = static_cast<int>(*quality);
  if (const auto most = found.number<std::uint32_t>(ETHTOOL_A_LINKSTATE_SQI_MAX))
    link.signal_quality_max = static_cast<int>(*most);
  return link;
}

Result<PortFec> parse_fec_attributes(std::string_view attributes) {
  const auto found = TRY(Attributes<ETHTOOL_A_FEC_MAX>::parse(attributes));
  PortFec fec;
  if (const auto mode = found.number<std::uint32_t>(ETHTOOL_A_FEC_ACTIVE)) fec.mode = fec_mode(*mode);
  const auto counters = found.bytes(ETHTOOL_A_FEC_STATS);
  if (!counters) return fec;
  const auto counts = TRY(Attributes<ETHTOOL_A_FEC_STAT_MAX>::parse(*counters));
  // The first number is the sum; those of the lanes follow. Empty: the driver does not count.
  fec.corrected_blocks = counts.number<std::uint64_t>(ETHTOOL_A_FEC_STAT_CORRECTED);
  fec.uncorrectable_blocks = counts.number<std::uint64_t>(ETHTOOL_A_FEC_STAT_UNCORR);
  return fec;
}

Result<std::string> parse_module_attributes(std::string_view attributes) {
  const auto found = TRY(Attributes<ETHTOOL_A_MODULE_EEPROM_MAX>::parse(attributes));
  const auto bytes = found.bytes(ETHTOOL_A_MODULE_EEPROM_DATA);
  if (!bytes) return fail(Errc::malformed, "ethtool: an answer without the bytes of the module");
  return std::string(*bytes);
}

namespace {

struct Reason {
  std::string_view word;
  std::span<const std::string_view> details;  // the first has number 1
};

constexpr std::array<std::string_view, 6> kAutoneg{"no_partner",       "ack_not_received",
                                                   "next_page_failed", "no_partner_force_mode",
                                                   "fec_mismatch",     "no_common_mode"};
constexpr std::array<std::string_view, 4> kTraining{"frame_lock_not_acquired", "link_inhibit_timeout",
                                                    "partner_not_ready", "remote_fault"};
constexpr std::array<std::string_view, 5> kMismatch{"no_block_lock", "no_alignment_lock", "no_alignment",
                                                    "fc_fec_not_locked", "rs_fec_not_locked"};
constexpr std::array<std::string_view, 4> kSignal{"many_physical_errors", "unsupported_rate",
                                                  "reference_clock_lost", "no_signal"};
constexpr std::array<std::string_view, 2> kCableDetails{"unsupported_cable", "cable_test_failed"};
constexpr std::array<std::string_view, 1> kModule{"not_ready"};

const std::array<Reason, 11> kReasons{{{"autonegotiation_failed", kAutoneg},
                                       {"link_training_failed", kTraining},
                                       {"logical_mismatch", kMismatch},
                                       {"bad_signal_integrity", kSignal},
                                       {"no_cable", {}},
                                       {"cable_issue", kCableDetails},
                                       {"eeprom_issue", {}},
                                       {"calibration_failure", {}},
                                       {"power_budget_exceeded", {}},
                                       {"overheat", {}},
                                       {"module", kModule}}};

}  // namespace

std::string link_reason(unsigned number) {
  return number < kReasons.size() ? std::string(kReasons.at(number).word) : std::to_string(number);
}

std::string link_detail(unsigned reason, unsigned detail) {
  if (detail == 0) return {};
  if (reason >= kReasons.size() || detail > kReasons.at(reason).details.size()) return std::to_string(detail);
  return std::string(kReasons.at(reason).details[detail - 1]);
}

}  // namespace autopilot::host
