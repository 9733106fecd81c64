// SPDX-License-Identifier: Apache-2.0
#include "probes/net/libiperf/calls.hpp"

#include <cerrno>
#include <iperf_api.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "probes/net/iperf/program.hpp"
#include "probes/net/machine/listeners.hpp"

// Under the names that the linker uses.
extern "C" {
int listen_itself(int socket, int backlog) __asm__("__real_listen");
int listen_for_some(int socket, int backlog) __asm__("__wrap_listen");
int accept_itself(int socket, sockaddr* address, socklen_t* size) __asm__("__real_accept");
int accept_of_some(int socket, sockaddr* address, socklen_t* size) __asm__("__wrap_accept");
ssize_t read_itself(int descriptor, void* place, size_t size) __asm__("__real_read");
ssize_t read_and_note(int descriptor, void* place, size_t size) __asm__("__wrap_read");
ssize_t write_itself(int descriptor, const void* place, size_t size) __asm__("__real_write");
ssize_t write_and_note(int descriptor, const void* place, size_t size) __asm__("__wrap_write");
ssize_t sendfile_itself(int to, int from, off_t* offset, size_t size) __asm__("__real_sendfile");
ssize_t sendfile_and_note(int to, int from, off_t* offset, size_t size) __asm__("__wrap_sendfile");
}

namespace autopilot::probes::net {
namespace {

struct Calls {
  std::span<const Address> allowed;
  int output = -1;
  bool has_listened = false;
  bool has_no_filter = false;  // the kernel does not filter clients
  bool has_peer = false;       // an allowed client has connected since the last socket started to listen
  int first_errno = 0;
  std::function<void()> before_streams;
};
Calls calls;

ssize_t noted(ssize_t result) {
  if (result < 0 && calls.first_errno == 0 && errno != EAGAIN && errno != EINTR) calls.first_errno = errno;
  return result;
}

// The peer sends its state in one byte; data arrive in blocks.
bool is_request_to_connect(const void* place, ssize_t size) {
  return size == 1 && *static_cast<const signed char*>(place) == CREATE_STREAMS;
}

ssize_t received(const void* place, size_t size, ssize_t result) {
  if (size == 1 && is_request_to_connect(place, result) && calls.before_streams) calls.before_streams();
  return noted(result);
}

int listened(int socket, int backlog) {
  const Status filtered = calls.allowed.empty() ? Status{} : accept_only_from(socket, calls.allowed);
  if (!filtered && filtered.error().code != Errc::denied) {
    errno = EINVAL;
    return -1;
  }
  calls.has_no_filter = !filtered;
  calls.has_peer = false;
  const int result = listen_itself(socket, backlog);
  if (result != 0) return result;
  if (!calls.has_listened && calls.output >= 0) write_all(calls.output, line_of_listening());
  calls.has_listened = true;
  return 0;
}

// Without a filter. A running test is not disturbed: libiperf rejects clients without its cookie.
int accepted(int socket) {
  if (socket < 0 || !calls.has_no_filter || calls.has_peer) return socket;
  if (is_from_one_of(socket, calls.allowed)) {
    calls.has_peer = true;
    return socket;
  }
  ::close(socket);
  errno = ECONNABORTED;
  return -1;
}

}  // namespace

void listen_only_for(std::span<const Address> allowed) {
  calls.allowed = allowed;
}

void announce_listening_on(int output) {
  calls.output = output;
}

void before_streams(std::function<void()> work) {
  calls.before_streams = std::move(work);
}

bool has_listened() {
  return calls.has_listened;
}

int first_errno() {
  return calls.first_errno;
}

void forget_errors() {
  calls.first_errno = 0;
}

void write_all(int output, std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = ::write(output, text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(size));
  }
}

}  // namespace autopilot::probes::net

int listen_for_some(int socket, int backlog) {
  return autopilot::probes::net::listened(socket, backlog);
}

int accept_of_some(int socket, sockaddr* address, socklen_t* size) {
  return autopilot::probes::net::accepted(accept_itself(socket, address, size));
}

ssize_t read_and_note(int descriptor, void* place, size_t size) {
  return autopilot::probes::net::received(place, size, read_itself(descriptor, place, size));
}

ssize_t write_and_note(int descriptor, const void* place, size_t size) {
  return autopilot::probes::net::noted(write_itself(descriptor, place, size));
}

ssize_t sendfile_and_note(int to, int from, off_t* offset, size_t size) {
  return autopilot::probes::net::noted(sendfile_itself(to, from, offset, size));
}
