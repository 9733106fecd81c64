// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "probes/gpu/nccl/nccl_library.hpp"

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

}  // namespace autopilot::probes::gpu
