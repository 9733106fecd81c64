// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <thread>
#include <unistd.h>

#include "tests/support/host/run_program.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::store::testing {

// A small file system of its own on a loop device; thawed and unmounted at the end.
class SmallDisk {
 public:
  SmallDisk() {
    if (::geteuid() != 0) {
      reason_ = "mounting needs root";
    } else if (!make_image()) {
      reason_ = "mkfs.ext4 cannot be run here";
    } else {
      mount();
    }
  }
  // The other disk as it would be found after a power cut now: what was not yet written to the device is
  // lost.
  struct AfterPowerCut {
    const SmallDisk& disk;
  };
  explicit SmallDisk(AfterPowerCut cut) {
    std::filesystem::copy_file(cut.disk.image(), image());
    mount();
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    if (!is_mounted_) return;
    if (is_frozen_) thaw();
    // A writer that was left alone may hold it for a moment longer.
    for (int tries = 0; ::umount(mount_point().c_str()) != 0 && tries < 500; ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds{20});
  }

  [[nodiscard]] const std::string& reason() const { return reason_; }  // why there is none; empty: mounted
  [[nodiscard]] std::string operator/(const std::string& name) const { return mount_point() + "/" + name; }
  [[nodiscard]] bool freeze() {
    is_frozen_ = control(FIFREEZE);
    return is_frozen_;
  }
  void thaw() { is_frozen_ = !control(FITHAW); }

 private:
  [[nodiscard]] std::string mount_point() const { return folder_ / "disk"; }
  [[nodiscard]] std::string image() const { return folder_ / "image"; }
  [[nodiscard]] bool make_image() const {
    std::ofstream(image()).close();
    std::filesystem::resize_file(image(), 12 << 20);
    return host::run_program({"mkfs.ext4", "-q", "-F", image()}).empty();
  }
  void mount() {
    std::filesystem::create_directory(mount_point());
    is_mounted_ = host::run_program({"mount", "-o", "loop", image(), mount_point()}).empty();
    if (!is_mounted_) reason_ = "a loop device cannot be mounted here";
  }
  [[nodiscard]] bool control(unsigned long request) const {
    const int fd = ::open(mount_point().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool done = fd >= 0 && ::ioctl(fd, request, 0) == 0;
    if (fd >= 0) ::close(fd);
    return done;
  }

  host::TestFolder folder_;
  std::string reason_;
  bool is_mounted_ = false;
  bool is_frozen_ = false;
};

// Takes what is free on the file system, in pieces, so that the last bytes are taken too.
inline void fill(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  ASSERT_GE(fd, 0);
  const std::string block(1 << 16, 'x');
  for (std::size_t size = block.size(); size > 0;) {
    const ssize_t written = ::write(fd, block.data(), size);
    if (written <= 0) size /= 2;
  }
  ASSERT_EQ(::fsync(fd), 0);
  ::close(fd);
}

}  // namespace autopilot::store::testing
