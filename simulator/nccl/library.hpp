// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "cuda/driver_table.hpp"
#include "nccl/exchange.hpp"

namespace autopilot::simulator::nccl {

// A wrong 64-bit word for one rank, instead of the word that all agree on.
struct WrongWord {
  int rank = 0;
  std::int64_t call = 0;  // among calls with such a word, from 0 on
  std::uint64_t value = 0;
};

// Properties of one process, as the simulated library presents them.
struct NcclTable {
  int version = 22105;
  double bus_bits_per_second = 3200e9;  // the slowest process of a communicator determines its speed
  std::optional<int> wrong_rank;        // receives a wrong sum of floats, at the end
  std::optional<WrongWord> wrong_word;
  cuda::CallFaults calls;
};

// Parses the YAML of tests and users; see docs/gpu-probe.md. Errc::malformed: every problem with its line.
[[nodiscard]] Result<NcclTable> parse_nccl_table(std::string_view text, const std::string& file);

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
