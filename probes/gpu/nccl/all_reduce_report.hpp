// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probes/gpu/nccl/reason.hpp"

namespace autopilot::probes::gpu {

struct AllReduceFigures {
  std::uint64_t bytes = 0;       // size of each rank's buffer in one iteration
  std::uint64_t iterations = 0;  // of all batches
  double seconds = 0;            // of all batches
  double algorithm_bits_per_second = 0;
  double bus_bits_per_second = 0;
  std::vector<double> samples;  // bus bandwidth of each batch
};

struct AllReduceReport {
  bool simulated = false;
  Vendor vendor = Vendor::nvidia;
  std::optional<std::string> address;       // the bound address
  std::optional<std::string> nccl_version;  // "2.21.5"; for AMD the version of RCCL
  int ranks = 0;
  std::optional<int> gpus;  // of this process
  std::optional<AllReduceFigures> figures;
  std::optional<Failure> failure;           // takes precedence over figures
  std::optional<int> wrong_rank;            // the first wrong rank, if the failure is a wrong result
  std::optional<int> wrong_last_rank = {};  // the last wrong rank
};

// One line of JSON; see docs/gpu-probe.md.
[[nodiscard]] std::string to_json(const AllReduceReport& report);
// The line of the serving process, with the data that others need to join.
[[nodiscard]] std::string to_invitation(const AllReduceReport& report, const std::string& id);
// For a report that was not ended by a signal.
[[nodiscard]] int exit_code_of(const AllReduceReport& report);

}  // namespace autopilot::probes::gpu
