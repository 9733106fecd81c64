// SPDX-License-Identifier: Apache-2.0
#include "nettest/echo/echo_socket.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <utility>

// The headers of the kernel leave out what those of the C library declared before them, net/if.h as well.
#include <linux/errqueue.h>
#include <linux/icmp.h>

#include "host/clock/system_clock.hpp"

namespace autopilot::nettest {
namespace {

constexpr int kReceiveBuffer = 1 << 20;
constexpr std::size_t kComplaintControl = 512;
constexpr std::size_t kAnswersAtOnce = 32;
// Of an answer: up to the end of its label. Of the header of IPv4 that is the longest.
constexpr std::size_t kFirstBytes = 60 + kEchoHeader + kEchoLabel;
constexpr std::size_t kStampControl = CMSG_SPACE(sizeof(timespec));

void set(int fd, int level, int option, int value) {
  (void)::setsockopt(fd, level, option, &value, sizeof value);
}

void set_options(int fd, bool is_ipv6) {
  set(fd, SOL_SOCKET, SO_RCVBUF, kReceiveBuffer);
  set(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1);  // answers may wait to be read
  if (is_ipv6) {
    set(fd, IPPROTO_IPV6, IPV6_RECVERR, 1);
    set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE);
    set(fd, IPPROTO_IPV6, IPV6_DONTFRAG, 1);
  } else {
    set(fd, IPPROTO_IP, IP_RECVERR, 1);
    set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
  }
}

// A raw socket gets every message of the kind; the kernel lets those through that may be answers.
void let_replies_through(int fd, bool is_ipv6) {
  if (is_ipv6) {
    icmp6_filter filter{};
    ICMP6_FILTER_SETBLOCKALL(&filter);
    ICMP6_FILTER_SETPASS(ICMP6_ECHO_REPLY, &filter);
    (void)::setsockopt(fd, IPPROTO_ICMPV6, ICMP6_FILTER, &filter, sizeof filter);
  } else {
    icmp_filter filter{};
    filter.data = ~(1U << ICMP_ECHOREPLY);
    (void)::setsockopt(fd, SOL_RAW, ICMP_FILTER, &filter, sizeof filter);
  }
}

host::InternetAddress address_of(const sockaddr_storage& storage, socklen_t size) {
  host::InternetAddress address;
  address.storage = storage;
  address.size = size;
  return address;
}

// By the wall clock, as the kernel notes it.
std::optional<WallTime> stamp_of(msghdr& message) {
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_TIMESTAMPNS) continue;
    timespec stamp{};
    std::memcpy(&stamp, CMSG_DATA(header), sizeof stamp);
    return WallTime{std::chrono::seconds{stamp.tv_sec} + std::chrono::nanoseconds{stamp.tv_nsec}};
  }
  return std::nullopt;
}

}  // namespace

// What recvmmsg(2) fills.
struct EchoSocket::Inbox {
  struct Place {
    std::array<char, kFirstBytes> packet{};
    alignas(cmsghdr) std::array<char, kStampControl> control{};
    sockaddr_storage from{};
    iovec part{};
  };

  void clear() {
    for (std::size_t i = 0; i < kAnswersAtOnce; ++i) {
      Place& place = places[i];
      place.part = {.iov_base = place.packet.data(), .iov_len = place.packet.size()};
      messages[i].msg_hdr = {.msg_name = &place.from,
                             .msg_namelen = sizeof place.from,
                             .msg_iov = &place.part,
                             .msg_iovlen = 1,
                             .msg_control = place.control.data(),
                             .msg_controllen = place.control.size(),
                             .msg_flags = 0};
    }
  }

  std::array<Place, kAnswersAtOnce> places;
  std::array<mmsghdr, kAnswersAtOnce> messages{};
};

EchoSocket::EchoSocket(host::Fd fd, bool is_ipv6, bool is_raw, std::uint16_t id)
    : fd_(std::move(fd)), is_ipv6_(is_ipv6), is_raw_(is_raw), id_(id), inbox_(std::make_unique<Inbox>()) {}
EchoSocket::~EchoSocket() = default;

Result<std::unique_ptr<EchoSocket>> EchoSocket::open(bool is_ipv6) {
  const int family = is_ipv6 ? AF_INET6 : AF_INET;
  const int protocol = is_ipv6 ? static_cast<int>(IPPROTO_ICMPV6) : static_cast<int>(IPPROTO_ICMP);
  bool is_raw = false;
  host::Fd fd(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol));
  if (!fd) {
    is_raw = true;
    fd = host::Fd(::socket(family, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol));
  }
  if (!fd && (errno == EPERM || errno == EACCES))
    return fail(Errc::denied,
                "echoes of ICMP: a group within the sysctl net.ipv4.ping_group_range, or CAP_NET_RAW");
  if (!fd) return fail_errno(errno, is_ipv6 ? "a socket for ICMPv6" : "a socket for ICMP");
  set_options(fd.get(), is_ipv6);
  if (is_raw) let_replies_through(fd.get(), is_ipv6);
  std::uint16_t id = 0;
  if (::getrandom(&id, sizeof id, 0) != sizeof id) return fail_errno(errno, "getrandom");
  return std::unique_ptr<EchoSocket>(new EchoSocket(std::move(fd), is_ipv6, is_raw, id));
}

int EchoSocket::send(const host::InternetAddress& to, const EchoLabel& label, std::size_t packet_bytes) {
  const std::string message = make_echo_request(is_ipv6_, id_, label, packet_bytes);
  if (::sendto(fd_.get(), message.data(), message.size(), MSG_NOSIGNAL, to.get(), to.size) >= 0) return 0;
  return errno;
}

std::optional<EchoLabel> EchoSocket::label_of(std::string_view packet) const {
  if (!is_raw_ || is_ipv6_) return parse_echo_reply(is_ipv6_, packet);
  const auto message = message_of_ipv4_packet(packet);
  return message ? parse_echo_reply(false, *message) : std::nullopt;
}

void EchoSocket::receive(const std::function<void(const Answer& answer)>& take) {
  while (true) {
    inbox_->clear();
    const int got = ::recvmmsg(fd_.get(), inbox_->messages.data(), kAnswersAtOnce, MSG_DONTWAIT, nullptr);
    // The kernel returns the error of a sent packet here too; receive_complaint() returns its address. An
    // error of the call itself would repeat for ever.
    constexpr std::array kOfTheCall{EAGAIN, ENOMEM, EPERM, EACCES, ENOSYS, EBADF, EINVAL, EFAULT};
    if (got < 0 && std::ranges::find(kOfTheCall, errno) == kOfTheCall.end()) continue;
    if (got <= 0) return;
    const Instant now = host::SystemClock().now();
    for (std::size_t i = 0; i < static_cast<std::size_t>(got); ++i) {
      mmsghdr& message = inbox_->messages[i];
      const auto& place = inbox_->places[i];
      const auto label = label_of({place.packet.data(), message.msg_len});
      if (!label) continue;
      // The wall clock may have been set meanwhile.
      const Duration age = std::max(Duration{0}, now.wall - stamp_of(message.msg_hdr).value_or(now.wall));
      take({.from = address_of(place.from, message.msg_hdr.msg_namelen),
            .label = *label,
            .at = now.mono - age});
    }
    if (static_cast<std::size_t>(got) < kAnswersAtOnce) return;
  }
}

bool EchoSocket::receive_complaint(Complaint& complaint) {
  while (true) {
    sockaddr_storage about{};
    alignas(cmsghdr) std::array<char, kComplaintControl> control{};
    msghdr message{};
    message.msg_name = &about;
    message.msg_namelen = sizeof about;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    if (::recvmsg(fd_.get(), &message, MSG_ERRQUEUE) < 0) return false;
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
         header = CMSG_NXTHDR(&message, header)) {
      if (header->cmsg_type != IP_RECVERR && header->cmsg_type != IPV6_RECVERR) continue;
      sock_extended_err error{};
      std::memcpy(&error, CMSG_DATA(header), sizeof error);
      complaint = {.about = address_of(about, message.msg_namelen),
                   .error = static_cast<int>(error.ee_errno)};
      return true;
    }
  }
}

}  // namespace autopilot::nettest
