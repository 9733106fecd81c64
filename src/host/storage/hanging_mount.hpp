// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>

#include "host/files/fuse_server.hpp"
#include "host/files/test_folder.hpp"

namespace autopilot::host {

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
