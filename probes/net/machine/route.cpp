// SPDX-License-Identifier: Apache-2.0
#include "probes/net/machine/route.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <optional>
#include <span>
#include <sys/socket.h>
#include <unistd.h>

namespace autopilot::probes::net {
namespace {

constexpr std::size_t kBitsOfByte = 8;

// A request to the kernel in memory layout.
class Question {
 public:
  explicit Question(bool is_ipv6) : size_(is_ipv6 ? 16 : 4) {
    head_.nlmsg_type = RTM_GETROUTE;
    head_.nlmsg_flags = NLM_F_REQUEST;
    route_.rtm_family = is_ipv6 ? AF_INET6 : AF_INET;
    route_.rtm_dst_len = route_.rtm_src_len = static_cast<unsigned char>(size_ * kBitsOfByte);
  }

  void add(unsigned short type, const Address& address) { add(type, address.bytes.data(), size_); }
  void add_interface(unsigned number) { add(RTA_OIF, &number, sizeof number); }

  [[nodiscard]] std::span<const char> bytes() {
    head_.nlmsg_len = static_cast<std::uint32_t>(used_);
    std::memcpy(bytes_.data(), &head_, sizeof head_);
    std::memcpy(bytes_.data() + NLMSG_LENGTH(0), &route_, sizeof route_);
    return {bytes_.data(), used_};
  }

 private:
  void add(unsigned short type, const void* value, std::size_t size) {
    const rtattr attribute{.rta_len = static_cast<unsigned short>(RTA_LENGTH(size)), .rta_type = type};
    std::memcpy(bytes_.data() + used_, &attribute, sizeof attribute);
    std::memcpy(bytes_.data() + used_ + RTA_LENGTH(0), value, size);
    used_ += RTA_ALIGN(attribute.rta_len);
  }

  std::size_t size_;  // of an address
  nlmsghdr head_{};
  rtmsg route_{};
  std::array<char, 256> bytes_{};
  std::size_t used_ = NLMSG_LENGTH(sizeof(rtmsg));
};

// The interface in a complete response.
Result<std::string> interface_in(std::span<const char> bytes, const std::string& what) {
  nlmsghdr head{};
  if (bytes.size() < sizeof head) return fail(Errc::malformed, what + ": the kernel's response is truncated");
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.nlmsg_type == NLMSG_ERROR && bytes.size() >= NLMSG_LENGTH(sizeof(nlmsgerr))) {
    nlmsgerr error{};
    std::memcpy(&error, bytes.data() + NLMSG_LENGTH(0), sizeof error);
    return fail_errno(-error.error, what);
  }
  std::size_t at = NLMSG_LENGTH(sizeof(rtmsg));
  while (at + sizeof(rtattr) <= bytes.size()) {
    rtattr attribute{};
    std::memcpy(&attribute, bytes.data() + at, sizeof attribute);
    if (attribute.rta_len < sizeof attribute || at + attribute.rta_len > bytes.size()) break;
    if (attribute.rta_type == RTA_OIF && attribute.rta_len >= RTA_LENGTH(sizeof(unsigned))) {
      unsigned number = 0;
      std::memcpy(&number, bytes.data() + at + RTA_LENGTH(0), sizeof number);
      std::array<char, IF_NAMESIZE> name{};
      if (::if_indextoname(number, name.data()) == nullptr) return fail_errno(errno, what);
      return std::string(name.data());
    }
    at += RTA_ALIGN(attribute.rta_len);
  }
  return fail(Errc::malformed, what + ": the kernel names no interface");
}

}  // namespace

Result<std::string> way_out(const Address& from, const Address& to) {
  const std::string what = "the route from " + from.text + " to " + to.text;
  Question question(to.is_ipv6);
  question.add(RTA_DST, to);
  question.add(RTA_SRC, from);
  if (!to.zone.empty()) question.add_interface(::if_nametoindex(to.zone.c_str()));
  const int socket = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (socket < 0) return fail_errno(errno, what);
  const std::span<const char> asked = question.bytes();
  std::array<char, 4096> answer{};
  ssize_t size = ::send(socket, asked.data(), asked.size(), 0);
  if (size >= 0) size = ::recv(socket, answer.data(), answer.size(), 0);
  const int error = errno;
  ::close(socket);
  if (size < 0) return fail_errno(error, what);
  return interface_in({answer.data(), static_cast<std::size_t>(size)}, what);
}

}  // namespace autopilot::probes::net
