// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probes/gpu/nccl/reason.hpp"

namespace autopilot::probes::gpu {

struct AllReduceFigures {
  std::uint64_t bytes = 0;       // of each rank's buffer, in one iteration
  std::uint64_t iterations = 0;  // of all batches
  double seconds = 0;            // of all batches
  double algorithm_bits_per_second = 0;
  double bus_bits_per_second = 0;
  std::vector<double> samples;  // bus, of each batch
};

struct AllReduceReport {
  bool simulated = false;
  Vendor vendor = Vendor::nvidia;
  std::optional<std::string> address;       // that was bound
  std::optional<std::string> nccl_version;  // "2.21.5"; of AMD that of RCCL
  int ranks = 0;
  std::optional<int> gpus;  // of this process
  std::optional<AllReduceFigures> figures;
  std::optional<Failure> failure;           // outranks figures
  std::optional<int> wrong_rank;            // the first one, where the failure is a wrong result
  std::optional<int> wrong_last_rank = {};  // likewise
};

// One line of JSON; docs/gpu-probe.md explains it.
[[nodiscard]] std::string to_json(const AllReduceReport& report);
// The line of who serves: it has what others need to join.
[[nodiscard]] std::string to_invitation(const AllReduceReport& report, const std::string& id);
// Of a report that no signal ended.
[[nodiscard]] int exit_code_of(const AllReduceReport& report);

}  // namespace autopilot::probes::gpu
