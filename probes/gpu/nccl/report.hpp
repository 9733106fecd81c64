// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "probes/gpu/nccl/communicator.hpp"

namespace autopilot::probes::gpu {

// Why an all-reduce was not measured; see docs/gpu-probe.md.
enum class Reason : std::uint8_t {
  no_driver,      // the CUDA or HIP library, or a GPU, is missing
  no_library,     // the NCCL or RCCL library is missing or unusable
  busy,           // a GPU is in use
  no_memory,      // on a GPU
  no_address,     // the address to bind is not of this machine
  not_joined,     // not all ranks joined in time
  refused,        // no process listens at the address in the id
  peer_vanished,  // during or after the creation of the communicator
  wrong_version,  // different versions of NCCL or RCCL
  wrong_result,   // a GPU received a wrong sum
  killed,         // a signal ended it
  internal,       // anything else
};

[[nodiscard]] std::string_view to_string(Reason reason);

struct Failure {
  Reason reason = Reason::internal;
  std::string text;  // one sentence
};

// The current step when an error occurs, in order of time.
enum class Stage : std::uint8_t { driver, guard, memory, library, joining, measuring };

// For all errors except those of NCCL's calls. The vendor selects the name NCCL or RCCL.
[[nodiscard]] Failure failure_of(Stage stage, const Error& error, Vendor vendor);
[[nodiscard]] Failure failure_of(Stage stage, const NcclError& error, Vendor vendor);
[[nodiscard]] Failure failure_of_wrong_sum(const std::string& text);
// For a call that does not return; `text` is from Patience.
[[nodiscard]] Failure failure_of_hanging(Stage stage, const std::string& text);

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
