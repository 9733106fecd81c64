// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
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
#include <vector>

#include "host/files/fd.hpp"
#include "tests/support/host/test_folder.hpp"

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

// For tests: a regular file of this kernel that can be found and opened, and whose reading does not return
// until it is told to answer, as a file of sysfs with dead firmware behind it.
class HangingFile {
 public:
  // `place` is an existing file; the other one is laid over it.
  HangingFile(std::string place, std::string text)
      : text_(std::move(text)), server_(std::move(place), "fuse.test", "100444") {
    server_.start([this](const fuse_in_header& request) { handle(request); }, [this] { answer_waiting(); });
  }
  HangingFile(const HangingFile&) = delete;
  HangingFile& operator=(const HangingFile&) = delete;
  ~HangingFile() { server_.stop(); }

  // Empty when the file is there.
  [[nodiscard]] const std::string& why_not() const { return server_.why_not(); }
  // From now on reads return, those that hang as well.
  void answer() { answers_ = true; }

 private:
  void handle(const fuse_in_header& request) {
    switch (request.opcode) {
      case FUSE_GETATTR: {
        fuse_attr_out attributes{};
        attributes.attr.ino = FUSE_ROOT_ID;
        attributes.attr.mode = S_IFREG | 0444;
        attributes.attr.nlink = 1;
        attributes.attr.size = 4096;
        return server_.reply(request.unique, attributes);
      }
      case FUSE_OPEN: {
        fuse_open_out opened{};
        opened.open_flags = FOPEN_DIRECT_IO;
        return server_.reply(request.unique, opened);
      }
      case FUSE_READ:
        waiting_.push_back(request.unique);
        return;
      case FUSE_FLUSH:
      case FUSE_RELEASE:
        return server_.reply_text(request.unique, "");
      default:
        return server_.refuse(request.unique, ENOSYS);
    }
  }
  // The first read of every opening gets the text, the next one the end of the file.
  void answer_waiting() {
    if (!answers_) return;
    for (const std::uint64_t unique : std::exchange(waiting_, {}))
      server_.reply_text(unique, std::exchange(at_end_, !at_end_) ? "" : text_);
  }

  const std::string text_;
  std::vector<std::uint64_t> waiting_;  // of the server's thread
  bool at_end_ = false;
  std::atomic<bool> answers_ = false;
  FuseServer server_;
};

// For tests: a real mount whose server took the question and does not answer it, as a dead file server.
class HangingMount {
 public:
  HangingMount() {
    server_.start([this](const fuse_in_header& request) { handle(request); });
  }
  HangingMount(const HangingMount&) = delete;
  HangingMount& operator=(const HangingMount&) = delete;
  ~HangingMount() { server_.stop(); }

  // Empty when the mount is there.
  [[nodiscard]] const std::string& why_not() const { return server_.why_not(); }
  [[nodiscard]] const std::string& path() const { return folder_.path(); }
  void answer(bool answers) { answers_ = answers; }

 private:
  void handle(const fuse_in_header& request) {
    if (!answers_) return;
    if (request.opcode == FUSE_GETATTR) {
      fuse_attr_out attributes{};
      attributes.attr.ino = FUSE_ROOT_ID;
      attributes.attr.mode = S_IFDIR | 0755;
      server_.reply(request.unique, attributes);
    } else if (request.opcode == FUSE_STATFS) {
      fuse_statfs_out usage{};
      usage.st = {.blocks = 100,
                  .bfree = 50,
                  .bavail = 40,
                  .files = 10,
                  .ffree = 5,
                  .bsize = 4096,
                  .namelen = 255,
                  .frsize = 4096,
                  .padding = 0,
                  .spare = {}};
      server_.reply(request.unique, usage);
    } else {
      server_.refuse(request.unique, ENOSYS);
    }
  }

  TestFolder folder_;
  std::atomic<bool> answers_ = false;
  FuseServer server_{folder_.path(), "fuse.sshfs", "40000"};
};

}  // namespace autopilot::host
