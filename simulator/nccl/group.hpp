// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "nccl/library.hpp"

namespace autopilot::simulator::nccl {

struct Join {
  abi::Communicator* to = nullptr;
  abi::Communicator made = nullptr;
  abi::UniqueId id{};
};
struct Reduction {
  abi::Communicator member = nullptr;
  AllReduceCall call;
};

// Pending calls of one thread: between the start and the end of a group, calls wait, because each of them
// alone would block on the next one.
class Group {
 public:
  // Of the calling thread.
  static Group& here();

  void begin() { ++depth_; }
  // Runs all calls when the outermost group ends.
  abi::Return end();

  // A call of the group has failed: the end of the group returns its code and runs nothing.
  abi::Return spoil(abi::Return code);

  // Runs immediately outside a group.
  abi::Return add(const Join& join);
  abi::Return add(const Reduction& reduction);

 private:
  abi::Return run();
  abi::Return run_joins();
  void run_reductions();

  int depth_ = 0;
  abi::Return spoiled_ = abi::kSuccess;
  std::vector<Join> joins_;
  std::vector<Reduction> reductions_;
};

}  // namespace autopilot::simulator::nccl
