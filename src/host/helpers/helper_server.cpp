// SPDX-License-Identifier: Apache-2.0
#include "host/helpers/helper_server.hpp"

#include <array>
#include <cerrno>
#include <iostream>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "host/files/fd.hpp"
#include "host/helpers/frame.hpp"
#include "host/helpers/message.hpp"
#include "host/process/own_process.hpp"

namespace autopilot::host {
namespace {

constexpr int kExitProtocol = 76;  // EX_PROTOCOL

// A parent-death signal would come when the *thread* that started us ends; a closed socket means the process.
void end_with_agent(int fd) {
  std::thread([fd] {
    while (!poll_until(fd, POLLRDHUP, mono_now() + std::chrono::hours{1})) {
    }
    ::_exit(0);
  }).detach();
}

bool send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

HelperAnswer answer_to(const HelperRequest& request, const HelperMethods& methods) {
  const auto method = methods.find(request.method);
  if (method == methods.end())
    return {.id = request.id, .result = fail(Errc::unsupported, "helper has no method " + request.method)};
  return {.id = request.id, .result = method->second(request.params, mono_now() + request.timeout)};
}

Result<std::string> answer_frame(const HelperRequest& request, const HelperMethods& methods) {
  auto frame = encode_frame(encode_answer(answer_to(request, methods)));
  if (frame) return frame;
  return encode_frame(encode_answer({.id = request.id, .result = fail(frame.error())}));
}

// Every whole request that has arrived.
Status answer_all(int fd, FrameReader& reader, const HelperMethods& methods) {
  while (true) {
    const auto body = TRY(reader.next());
    if (!body) return {};
    const HelperRequest request = TRY(decode_request(*body));
    const std::string frame = TRY(answer_frame(request, methods));
    if (!send_all(fd, frame)) return fail_errno(errno, "answer to the agent");
  }
}

}  // namespace

int serve(int fd, const HelperMethods& methods) {
  end_with_agent(fd);
  FrameReader reader;
  std::array<char, 16 * 1024> buffer{};
  unmap_own_code();
  while (true) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) return 0;
    if (got < 0) return kExitProtocol;
    reader.add({buffer.data(), static_cast<std::size_t>(got)});
    if (const Status status = answer_all(fd, reader, methods); !status) {
      std::cerr << "autopilot helper: " << status.error().what << "\n";
      return kExitProtocol;
    }
  }
}

}  // namespace autopilot::host
