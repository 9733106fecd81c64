// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "nccl/member.hpp"
#include "nccl/nccl_table.hpp"

namespace autopilot::simulator::nccl {

// The library in one process: the table of $AUTOPILOT_SIM_NCCL, read once, and the communicators.
// Thread-safe, as long as a communicator is used by one thread.
class Library {
 public:
  static Library& instance();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() = default;

  [[nodiscard]] const NcclTable& table() const { return table_; }
  // Applies the faults of the table for this call. kSuccess: continue.
  [[nodiscard]] abi::Return enter(const char* function);

  // The result of ncclGetLastError, also in another thread.
  abi::Return fail_with(MemberError error);
  [[nodiscard]] const char* last_error();

  [[nodiscard]] abi::Communicator make(int ranks, int rank);
  abi::Return free(abi::Communicator communicator);
  [[nodiscard]] bool is_known(abi::Communicator communicator);

 private:
  Library();

  std::mutex mutex_;
  NcclTable table_;
  std::map<std::string, std::int64_t, std::less<>> calls_;
  std::string last_error_;
  std::map<abi::Communicator, std::unique_ptr<abi::CommunicatorTag>> communicators_;
};

}  // namespace autopilot::simulator::nccl
