// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "host/gpu/gpus.hpp"
#include "host/process/child.hpp"

// The program that measures GPUs, autopilot-gpu-probe, as an end of an all-reduce between nodes: how it is
// started and what it says (docs/gpu-probe.md). gpu_probe_program() names it.
namespace autopilot::nettest {

// Longer ones are not read.
inline constexpr std::size_t kMaxNcclProbeReport = std::size_t{64} << 10;

// Seconds in one call of a driver, and for the other end to come.
inline constexpr int kNcclPatience = 20;

// The GPUs of one node, in an all-reduce with those of others.
struct AllReduceEnd {
  std::string address;  // of this node: over its interface the ends find each other
  int gpus = 0;         // the first so many of this node
  int ranks = 0;        // GPUs of all nodes together
  int seconds = 0;      // that count
  host::GpuVendor vendor = host::GpuVendor::nvidia;
};
// The end that waits for the others. Its ranks come first.
struct AllReduceServer {
  AllReduceEnd end;
};
// One that joins it.
struct AllReduceTest {
  AllReduceEnd end;
  int first = 0;   // rank of the first of its GPUs
  std::string id;  // what the one that waits said, hexadecimal digits
};

// Of the whole: every GPU has the same.
struct AllReduce {
  double bus = 0;               // bits/s that each GPU sends, and gets: bus bandwidth as nccl-tests have it
  std::vector<double> samples;  // bits/s, in the order of time
};
// What came of it: `measured`, or why nothing was.
struct AllReduceReport {
  std::optional<AllReduce> measured;
  std::string reason;                       // one word of docs/gpu-probe.md: "busy", "no_library"
  std::string error;                        // the same as a sentence
  std::optional<int> wrong_rank = {};       // the first one whose sum was wrong, where that is the reason
  std::optional<int> wrong_last_rank = {};  // and the last one; nothing: not known
};

// Both use only GPUs of which it is known that nobody else does. The id is in the environment of one that
// joins, where no other user of the node sees it, and in no argument.
[[nodiscard]] host::Command command_of(const std::string& program, const AllReduceServer& server);
[[nodiscard]] host::Command command_of(const std::string& program, const AllReduceTest& test);

// The first line of a server: what others join with. unavailable: it cannot serve, and why.
// malformed: no such line. Pure, like the next one.
[[nodiscard]] Result<std::string> parse_nccl_id(std::string_view line);
// What a test wrote. malformed: no such report, or one without a reason and without a figure.
[[nodiscard]] Result<AllReduceReport> parse_all_reduce(std::string_view text);

}  // namespace autopilot::nettest
