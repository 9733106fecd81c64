// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "host/files/files.hpp"
#include "host/storage/filesystems.hpp"

namespace autopilot::host {

// What a machine tree says about one mount.
struct TreeUsage {
  Usage usage;
  bool hangs = false;  // nobody answers: usage() says timed_out
};

// The mounts of a machine tree: mountinfo from its root/, usage by mount point.
class TreeFilesystems final : public Filesystems {
 public:
  TreeFilesystems(const Files& files, std::map<std::string, TreeUsage, std::less<>> usage)
      : files_(files), usage_(std::move(usage)) {}
  [[nodiscard]] Result<std::vector<Mount>> mounts() const override;
  // not_found for a mount of which the tree says nothing.
  [[nodiscard]] Result<Usage> usage(const Mount& mount, MonoTime deadline) const override;

 private:
  const Files& files_;
  std::map<std::string, TreeUsage, std::less<>> usage_;
};

}  // namespace autopilot::host
