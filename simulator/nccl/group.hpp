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

// What one thread has asked for and not got yet: between the begin and the end of a group calls wait, because
// each of them alone would wait for the next one.
class Group {
 public:
  // Of the calling thread.
  static Group& here();

  void begin() { ++depth_; }
  // Does all of it where the outermost group ends.
  abi::Return end();

  // A call of the group has failed: the end of the group gives its code, and nothing is done.
  abi::Return spoil(abi::Return code);

  // At once where there is no group.
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
