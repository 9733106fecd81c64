// SPDX-License-Identifier: Apache-2.0
#include "probes/net/libiperf/calls.hpp"

#include <cerrno>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "probes/net/iperf/server_output.hpp"
#include "probes/net/libiperf/session.hpp"
#include "probes/net/machine/packet_filter.hpp"

// By the names that the linker gives them.
extern "C" {
int listen_itself(int socket, int backlog) __asm__("__real_listen");
int listen_for_some(int socket, int backlog) __asm__("__wrap_listen");
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
  int first_errno = 0;
};
Calls calls;

ssize_t noted(ssize_t result) {
  if (result < 0 && calls.first_errno == 0 && errno != EAGAIN && errno != EINTR) calls.first_errno = errno;
  return result;
}

int listened(int socket, int backlog) {
  if (!calls.allowed.empty() && !accept_only_from(socket, calls.allowed)) {
    errno = EPERM;
    return -1;
  }
  const int result = listen_itself(socket, backlog);
  if (result != 0) return result;
  if (!calls.has_listened && calls.output >= 0) write_all(calls.output, line_of_listening());
  calls.has_listened = true;
  return 0;
}

}  // namespace

void listen_only_for(std::span<const Address> allowed) {
  calls.allowed = allowed;
}

void tell_of_listening(int output) {
  calls.output = output;
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

}  // namespace autopilot::probes::net

int listen_for_some(int socket, int backlog) {
  return autopilot::probes::net::listened(socket, backlog);
}

ssize_t read_and_note(int descriptor, void* place, size_t size) {
  return autopilot::probes::net::noted(read_itself(descriptor, place, size));
}

ssize_t write_and_note(int descriptor, const void* place, size_t size) {
  return autopilot::probes::net::noted(write_itself(descriptor, place, size));
}

ssize_t sendfile_and_note(int to, int from, off_t* offset, size_t size) {
  return autopilot::probes::net::noted(sendfile_itself(to, from, offset, size));
}
