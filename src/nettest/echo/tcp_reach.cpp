// SPDX-License-Identifier: Apache-2.0
#include "nettest/echo/tcp_reach.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <poll.h>
#include <sys/socket.h>
#include <system_error>
#include <utility>

#include "host/files/fd.hpp"
#include "host/netlink/internet_address.hpp"
#include "nettest/echo/peer_echo.hpp"

namespace autopilot::nettest {
namespace {

// Each takes a descriptor.
constexpr std::size_t kConnectionsAtOnce = 256;

struct Knock {
  PeerEcho* peer = nullptr;
  EchoTally* tally = nullptr;
  host::Fd socket;
};

bool is_answer(int error) {
  return error == 0 || error == ECONNREFUSED;
}

void settle(Knock& knock, int error) {
  if (is_answer(error))
    knock.tally->note_answer(static_cast<std::uint16_t>(knock.tally->sent() - 1), host::mono_now());
  else if (is_own_trouble(error))
    knock.tally->forget_last();
  else
    knock.peer->problem = std::generic_category().message(error);
  knock.socket.reset();
}

void begin(Knock& knock, std::uint16_t port) {
  const auto to = host::parse_internet_address(knock.peer->address, port);
  if (!to) return;
  knock.socket = host::Fd(::socket(to->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!knock.socket) {
    if (!is_own_trouble(errno)) knock.peer->problem = std::generic_category().message(errno);
    return;
  }
  // Ended by a reset, which leaves nothing behind on either side.
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  (void)::setsockopt(knock.socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  (void)knock.tally->note_sent(host::mono_now());
  const int error = ::connect(knock.socket.get(), to->get(), to->size) == 0 ? 0 : errno;
  if (error != EINPROGRESS) settle(knock, error);
}

int error_of(int socket) {
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

void wait_for(std::vector<Knock>& knocks, MonoTime until) {
  while (true) {
    std::vector<pollfd> descriptors;
    for (const Knock& knock : knocks)
      descriptors.push_back({.fd = knock.socket ? knock.socket.get() : -1, .events = POLLOUT, .revents = 0});
    if (std::ranges::all_of(knocks, [](const Knock& knock) { return !knock.socket; }) ||
        !host::poll_until(descriptors, until))
      return;
    for (std::size_t i = 0; i < knocks.size(); ++i)
      if (descriptors[i].revents != 0) settle(knocks[i], error_of(knocks[i].socket.get()));
  }
}

}  // namespace

void reach_by_tcp(const std::vector<PeerEcho*>& peers, const TcpReach& how) {
  std::vector<EchoTally> tallies(peers.size());
  for (unsigned echo = 0; echo < how.echoes; ++echo)
    for (std::size_t first = 0; first < peers.size(); first += kConnectionsAtOnce) {
      if (host::mono_now() >= how.deadline - how.patience) break;
      std::vector<Knock> knocks;
      for (std::size_t i = first; i < std::min(peers.size(), first + kConnectionsAtOnce); ++i) {
        knocks.push_back({.peer = peers[i], .tally = &tallies[i], .socket = host::Fd()});
        begin(knocks.back(), how.port);
      }
      wait_for(knocks, std::min(how.deadline, host::mono_now() + how.patience));
    }
  for (std::size_t i = 0; i < peers.size(); ++i) {
    peers[i]->way = EchoWay::tcp;
    peers[i]->figures = tallies[i].figures();
  }
}

}  // namespace autopilot::nettest
