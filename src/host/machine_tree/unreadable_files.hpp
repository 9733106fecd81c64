// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/files/files.hpp"
#include "host/machine_tree/machine_tree.hpp"

namespace autopilot::host {

// The gate of the files of a machine tree: what machine.yaml says under `unreadable`. A path counts as well
// when it leads there by a symbolic link. Thread-safe.
class UnreadableFiles {
 public:
  // How soon a read that hangs notices that it no longer should.
  static constexpr Duration kHangPoll = std::chrono::milliseconds{20};

  UnreadableFiles(const MachineTreeFile& tree, std::string root) : tree_(tree), files_(std::move(root)) {}

  // The error that the tree has for this path. Does not return while the tree says that the read hangs; a
  // tree that is gone lets everybody go.
  [[nodiscard]] Status pass(std::string_view path) const;

 private:
  [[nodiscard]] TreeObstacle obstacle(const MachineTree& tree, std::string_view path) const;

  const MachineTreeFile& tree_;
  const Files files_;  // without the gate
};

}  // namespace autopilot::host
