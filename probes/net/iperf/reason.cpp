// SPDX-License-Identifier: Apache-2.0
#include "probes/net/iperf/reason.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <iperf_api.h>

#include "core/parse.hpp"
#include "core/word_table.hpp"

namespace autopilot::probes::net {
namespace {

constexpr WordTable<Reason, 16> kWords{{
    {Reason::refused, "refused"},
    {Reason::unreachable, "unreachable"},
    {Reason::no_route, "no_route"},
    {Reason::no_address, "no_address"},
    {Reason::timed_out, "timed_out"},
    {Reason::busy, "busy"},
    {Reason::wrong_version, "wrong_version"},
    {Reason::peer_vanished, "peer_vanished"},
    {Reason::port_taken, "port_taken"},
    {Reason::denied, "denied"},
    {Reason::garbage, "garbage"},
    {Reason::killed, "killed"},
    {Reason::no_program, "no_program"},
    {Reason::no_cuda, "no_cuda"},
    {Reason::no_end, "no_end"},
    {Reason::internal, "internal"},
}};

// Error numbers of Linux are below this.
constexpr int kEndOfErrnos = 134;
constexpr std::size_t kLongestText = 300;

// During connection setup.
Reason reason_of_connecting(int errno_value) {
  switch (errno_value) {
    case ECONNREFUSED:
      return Reason::refused;
    case EHOSTUNREACH:
    case EHOSTDOWN:
      return Reason::unreachable;
    case ENETUNREACH:
    case ENETDOWN:
    case EINVAL:  // a blackhole route
      return Reason::no_route;
    case EADDRNOTAVAIL:
    case ENODEV:
      return Reason::no_address;
    case ETIMEDOUT:
    case EINPROGRESS:
      return Reason::timed_out;
    case EACCES:
    case EPERM:
      return Reason::denied;
    case ECONNRESET:
    case EPIPE:
      return Reason::peer_vanished;
    default:
      return Reason::internal;
  }
}

Reason reason_of_listening(int errno_value) {
  switch (errno_value) {
    case EADDRINUSE:
      return Reason::port_taken;
    case EADDRNOTAVAIL:
    case ENODEV:
      return Reason::no_address;
    case EACCES:
    case EPERM:
      return Reason::denied;
    default:
      return Reason::internal;
  }
}

// On an established connection.
Reason reason_of_talking(int errno_value) {
  switch (errno_value) {
    case ETIMEDOUT:
      return Reason::timed_out;
    case EHOSTUNREACH:
      return Reason::unreachable;
    case ENETUNREACH:
      return Reason::no_route;
    default:
      return Reason::peer_vanished;
  }
}

Reason reason_of(const IperfError& error) {
  switch (error.code) {
    case IECONNECT:
    case IESTREAMCONNECT:
    case IEBINDDEV:
      return reason_of_connecting(error.errno_value);
    case IELISTEN:
    case IESTREAMLISTEN:
      return reason_of_listening(error.errno_value);
    case IEACCESSDENIED:
      return Reason::busy;
    case IETOTALRATE:
    case IEAUTHTEST:
      return Reason::denied;
    case IENOMSG:
      return Reason::timed_out;
    case IEMESSAGE:
    case IEPROTOCOL:
    case IERECVPARAMS:
    case IERECVCOOKIE:
      return Reason::wrong_version;
    case IERECVRESULTS:
    case IEPACKAGERESULTS:
      return error.errno_value == 0 ? Reason::garbage : reason_of_talking(error.errno_value);
    case IESENDCOOKIE:
    case IECTRLWRITE:
    case IECTRLREAD:
    case IECTRLCLOSE:
    case IESENDMESSAGE:
    case IERECVMESSAGE:
    case IESENDPARAMS:
    case IESENDRESULTS:
    case IECLIENTTERM:
    case IESERVERTERM:
    case IESTREAMWRITE:
    case IESTREAMREAD:
    case IESTREAMCLOSE:
      return reason_of_talking(error.errno_value);
    default:
      return Reason::internal;
  }
}

std::string_view sentence_of(Reason reason) {
  switch (reason) {
    case Reason::refused:
      return "connection refused: no program listens on the port";
    case Reason::unreachable:
      return "the address is unreachable";
    case Reason::no_route:
      return "this machine has no route to the address";
    case Reason::no_address:
      return "this machine does not have the given address or interface";
    case Reason::timed_out:
      return "no response within the time limit";
    case Reason::busy:
      return "the peer is running another test";
    case Reason::wrong_version:
      return "the peer does not use the iperf3 protocol";
    case Reason::peer_vanished:
      return "the connection broke";
    case Reason::port_taken:
      return "another program listens on the port";
    case Reason::denied:
      return "permission denied";
    case Reason::garbage:
      return "the peer's results are malformed";
    case Reason::killed:
    case Reason::no_program:
    case Reason::no_cuda:
    case Reason::no_end:
    case Reason::internal:
      return "libiperf failed";
  }
  return {};
}

}  // namespace

std::string_view to_string(Reason reason) {
  return word_of(kWords, reason);
}

Failure failure_of(const IperfError& error, const std::string& place) {
  const Reason reason = reason_of(error);
  std::string text = place + ": " + std::string(sentence_of(reason));
  if (!error.text.empty()) text += " (" + to_printable(error.text, kLongestText) + ")";
  return {reason, std::move(text)};
}

int errno_at_end_of(std::string_view text) {
  for (int number = 1; number < kEndOfErrnos; ++number)
    if (text.ends_with(std::string(": ") + std::strerror(number))) return number;
  return 0;
}

}  // namespace autopilot::probes::net
