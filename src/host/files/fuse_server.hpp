// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <linux/fuse.h>
#include <string>
#include <string_view>
#include <sys/mount.h>
#include <thread>
#include <utility>

#include "host/files/fd.hpp"
#include "host/process/poll.hpp"

namespace autopilot::host {

// For tests: a real FUSE mount with a server that answers as told. Whoever waits for an answer that does not
// come hangs in the kernel and cannot be killed until the server answers or is gone.
class FuseServer {
 public:
  // Called by the server's thread for every request but the first; what it does not reply() to hangs.
  using Handler = std::function<void(const fuse_in_header& request)>;
  // Called often by the server's thread.
  using Idle = std::function<void()>;

  // root_mode: of what is mounted over `place`, octal: "40000" a directory, "100444" a file.
  FuseServer(std::string place, const std::string& type, const std::string& root_mode)
      : place_(std::move(place)), device_(::open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK)) {
    if (!device_) {
      why_not_ = std::string("/dev/fuse: ") + std::strerror(errno);
      return;
    }
    const std::string options = "fd=" + std::to_string(device_.get()) + ",rootmode=" + root_mode +
                                ",user_id=0,group_id=0,allow_other";
    if (::mount("autopilot-test", place_.c_str(), type.c_str(), MS_NOSUID | MS_NODEV, options.c_str()) == 0)
      return;
    why_not_ = std::string("mount: ") + std::strerror(errno);
    device_.reset();
  }
  FuseServer(const FuseServer&) = delete;
  FuseServer& operator=(const FuseServer&) = delete;
  ~FuseServer() { stop(); }

  // Empty when the mount is there.
  [[nodiscard]] const std::string& why_not() const { return why_not_; }
  void start(
      Handler handler, Idle idle = [] {}) {
    if (!device_) return;
    server_ = std::jthread([this, handler = std::move(handler), idle = std::move(idle)](
                               const std::stop_token& stop) { serve(stop, handler, idle); });
  }
  // Takes the mount away and wakes everybody who hangs.
  void stop() {
    if (!device_) return;
    if (server_.joinable()) {
      server_.request_stop();
      server_.join();
    }
    device_.reset();
    ::umount2(place_.c_str(), MNT_DETACH);
  }

  template <class T>
  void reply(std::uint64_t unique, const T& body) {
    send(unique, 0, {reinterpret_cast<const char*>(&body), sizeof body});
  }
  void reply_text(std::uint64_t unique, std::string_view text) { send(unique, 0, text); }
  void refuse(std::uint64_t unique, int error) { send(unique, -error, {}); }

 private:
  void serve(const std::stop_token& stop, const Handler& handler, const Idle& idle) {
    std::array<char, 128 * 1024> request{};
    while (!stop.stop_requested()) {
      idle();
      if (!poll_until(device_.get(), POLLIN, mono_now() + std::chrono::milliseconds{20})) continue;
      const ssize_t got = ::read(device_.get(), request.data(), request.size());
      if (got < static_cast<ssize_t>(sizeof(fuse_in_header))) continue;
      fuse_in_header header{};
      std::memcpy(&header, request.data(), sizeof header);
      if (header.opcode == FUSE_INIT)
        greet(header.unique);
      else
        handler(header);
    }
  }
  void greet(std::uint64_t unique) {
    fuse_init_out init{};
    init.major = FUSE_KERNEL_VERSION;
    init.minor = FUSE_KERNEL_MINOR_VERSION;
    init.max_write = 4096;
    reply(unique, init);
  }
  void send(std::uint64_t unique, int error, std::string_view body) {
    const fuse_out_header header{.len = static_cast<std::uint32_t>(sizeof(fuse_out_header) + body.size()),
                                 .error = error,
                                 .unique = unique};
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
    bytes += body;
    static_cast<void>(!::write(device_.get(), bytes.data(), bytes.size()));
  }

  std::string place_;
  Fd device_;
  std::string why_not_;
  std::jthread server_;
};

}  // namespace autopilot::host
