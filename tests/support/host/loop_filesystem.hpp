// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <sys/mount.h>
#include <utility>
#include <vector>

#include "tests/support/host/run_program.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::host {

// For tests: a filesystem of its own in a file, mounted; real, and gone with its owner.
class LoopFilesystem {
 public:
  struct Options {
    std::string mount = "errors=remount-ro";
    std::vector<std::string> make = {"mkfs.ext4", "-q", "-F", "-N", "1024"};
    int megabytes = 32;
  };

  LoopFilesystem() : LoopFilesystem(Options{}) {}
  explicit LoopFilesystem(const Options& options) {
    std::ofstream(image()).close();
    std::filesystem::resize_file(image(), static_cast<std::uintmax_t>(options.megabytes) << 20);
    std::filesystem::create_directory(path());
    std::vector<std::string> make = options.make;
    make.push_back(image());
    why_not_ = run_program(make);
    if (why_not_.empty()) why_not_ = run_program({"mount", "-o", "loop," + options.mount, image(), path()});
    is_mounted_ = why_not_.empty();
  }
  LoopFilesystem(const LoopFilesystem&) = delete;
  LoopFilesystem& operator=(const LoopFilesystem&) = delete;
  ~LoopFilesystem() {
    if (is_mounted_) ::umount2(path().c_str(), MNT_DETACH);
  }

  // Empty when the filesystem is there.
  [[nodiscard]] const std::string& why_not() const { return why_not_; }
  [[nodiscard]] std::string path() const { return folder_.path() + "/mount"; }
  [[nodiscard]] std::string image() const { return folder_.path() + "/image"; }
  // "loop3"; empty when it cannot be told.
  [[nodiscard]] std::string device() const {
    std::string source;
    if (!run_program({"findmnt", "-no", "SOURCE", path()}, &source).empty()) return {};
    return source.substr(source.rfind('/') + 1, source.find_last_not_of('\n') - source.rfind('/'));
  }

 private:
  TestFolder folder_;
  std::string why_not_;
  bool is_mounted_ = false;
};

// For tests: who writes there waits in the kernel, where no signal ends it, until the owner is gone.
class FrozenFilesystem {
 public:
  explicit FrozenFilesystem(std::string path)
      : path_(std::move(path)), why_not_(run_program({"fsfreeze", "--freeze", path_})) {}
  FrozenFilesystem(const FrozenFilesystem&) = delete;
  FrozenFilesystem& operator=(const FrozenFilesystem&) = delete;
  ~FrozenFilesystem() { thaw(); }

  void thaw() {
    if (is_frozen_) run_program({"fsfreeze", "--unfreeze", path_});
    is_frozen_ = false;
  }
  // Empty when it was frozen.
  [[nodiscard]] const std::string& why_not() const { return why_not_; }

 private:
  std::string path_;
  std::string why_not_;
  bool is_frozen_ = why_not_.empty();
};

// For tests: a block device whose blocks are a file.
class LoopDevice {
 public:
  explicit LoopDevice(const std::string& file) {
    why_not_ = run_program({"losetup", "--find", "--show", file}, &node_);
    node_.erase(node_.find_last_not_of('\n') + 1);
  }
  LoopDevice(const LoopDevice&) = delete;
  LoopDevice& operator=(const LoopDevice&) = delete;
  ~LoopDevice() {
    if (why_not_.empty()) run_program({"losetup", "--detach", node_});
  }

  // Empty when the device is there.
  [[nodiscard]] const std::string& why_not() const { return why_not_; }
  [[nodiscard]] const std::string& node() const { return node_; }                        // "/dev/loop3"
  [[nodiscard]] std::string name() const { return node_.substr(node_.rfind('/') + 1); }  // "loop3"

 private:
  std::string node_;
  std::string why_not_;
};

}  // namespace autopilot::host
