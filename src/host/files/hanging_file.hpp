// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "host/files/fuse_server.hpp"

namespace autopilot::host {

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

}  // namespace autopilot::host
