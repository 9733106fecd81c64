// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

// What PyTorch's flight recorder wrote about one rank: the newest collectives of each process group.
namespace autopilot::collect {

struct DumpLimits {
  static constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
  static constexpr std::size_t kMaxGroups = 4096;
  static constexpr std::size_t kMaxEntries = 200'000;
};

// A collective, or a send or receive.
struct DumpOperation {
  std::string name;           // as PyTorch names it: "nccl:all_reduce", "nccl:recv 0<-1"; may be empty
  std::int64_t sequence = 0;  // collectives are numbered apart from sends and receives
  std::string state;          // "scheduled", "started"; may be any other text, or empty
};

struct DumpGroup {
  std::string name;                       // of the process group; equal on all its ranks
  std::string description;                // free text, such as "default_pg"; may be empty
  std::vector<int> ranks;                 // of the job, ascending; empty: not stated
  std::optional<std::int64_t> enqueued;   // sequence number of the last collective that the rank enqueued
  std::optional<std::int64_t> completed;  // and of the last completed one
  std::optional<DumpOperation> open_collective;  // the oldest that has not completed
  std::optional<DumpOperation> open_p2p;         // the same of sends and receives
};

struct FlightDump {
  std::string version;            // of the format
  std::vector<DumpGroup> groups;  // ordered by name
};

// Pickle or JSON. Members that are not known are ignored. malformed: neither, or not a dump. unsupported: a
// pickle that imports or calls something. exhausted: a limit.
[[nodiscard]] Result<FlightDump> parse_flight_dump(std::string_view bytes);

}  // namespace autopilot::collect
