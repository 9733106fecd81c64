// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/fuse.h>
#include <string>
#include <string_view>
#include <sys/mount.h>
#include <thread>

#include "host/files/fd.hpp"
#include "host/files/test_folder.hpp"
#include "host/process/poll.hpp"

namespace autopilot::host {

// For tests: a real mount whose server took the question and does not answer it, as a dead file server.
// Whoever asks it hangs in the kernel and cannot be killed until the server answers again or is gone.
class HangingMount {
 public:
  HangingMount() : device_(::open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK)) {
    if (!device_) {
      why_not_ = std::string("/dev/fuse: ") + std::strerror(errno);
      return;
    }
    const std::string options =
        "fd=" + std::to_string(device_.get()) + ",rootmode=40000,user_id=0,group_id=0,allow_other";
    if (::mount("autopilot-test", folder_.path().c_str(), "fuse.sshfs", MS_NOSUID | MS_NODEV,
                options.c_str()) != 0) {
      why_not_ = std::string("mount: ") + std::strerror(errno);
      device_.reset();
      return;
    }
    server_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
  }
  HangingMount(const HangingMount&) = delete;
  HangingMount& operator=(const HangingMount&) = delete;
  ~HangingMount() {
    if (!device_) return;
    server_.request_stop();
    server_.join();
    device_.reset();  // wakes everybody who hangs
    ::umount2(folder_.path().c_str(), MNT_DETACH);
  }

  // Empty when the mount is there.
  [[nodiscard]] const std::string& why_not() const { return why_not_; }
  [[nodiscard]] const std::string& path() const { return folder_.path(); }
  void answer(bool answers) { answers_ = answers; }

 private:
  void serve(const std::stop_token& stop) {
    std::array<char, 128 * 1024> request{};
    while (!stop.stop_requested()) {
      if (!poll_until(device_.get(), POLLIN, mono_now() + std::chrono::milliseconds{20})) continue;
      const ssize_t got = ::read(device_.get(), request.data(), request.size());
      if (got < static_cast<ssize_t>(sizeof(fuse_in_header))) continue;
      fuse_in_header header{};
      std::memcpy(&header, request.data(), sizeof header);
      reply(header);
    }
  }

  void reply(const fuse_in_header& header) {
    if (header.opcode == FUSE_INIT) {
      fuse_init_out init{};
      init.major = FUSE_KERNEL_VERSION;
      init.minor = FUSE_KERNEL_MINOR_VERSION;
      init.max_write = 4096;
      send(header.unique, 0, {reinterpret_cast<const char*>(&init), sizeof init});
    } else if (!answers_) {
      return;
    } else if (header.opcode == FUSE_GETATTR) {
      fuse_attr_out attributes{};
      attributes.attr.ino = FUSE_ROOT_ID;
      attributes.attr.mode = S_IFDIR | 0755;
      send(header.unique, 0, {reinterpret_cast<const char*>(&attributes), sizeof attributes});
    } else if (header.opcode == FUSE_STATFS) {
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
      send(header.unique, 0, {reinterpret_cast<const char*>(&usage), sizeof usage});
    } else {
      send(header.unique, -ENOSYS, {});
    }
  }

  void send(std::uint64_t unique, int error, std::string_view body) {
    const fuse_out_header header{.len = static_cast<std::uint32_t>(sizeof(fuse_out_header) + body.size()),
                                 .error = error,
                                 .unique = unique};
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
    bytes += body;
    static_cast<void>(!::write(device_.get(), bytes.data(), bytes.size()));
  }

  TestFolder folder_;
  Fd device_;
  std::string why_not_;
  std::atomic<bool> answers_ = false;
  std::jthread server_;
};

}  // namespace autopilot::host
