// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "probes/gpu/nccl/nccl_library.hpp"

namespace autopilot::probes::gpu {

// Why an all-reduce was not measured; docs/gpu-probe.md explains the words.
enum class Reason : std::uint8_t {
  no_driver,      // CUDA's library, or HIP's, or a GPU, is not here
  no_library,     // NCCL's, or RCCL's, is not here, or cannot be used
  busy,           // somebody else uses a GPU
  no_memory,      // on a GPU
  no_address,     // the address to be bound is not of this machine
  not_joined,     // the others did not come in time
  refused,        // nobody listens any more where the id says
  peer_vanished,  // after the communicator existed, or while it was made
  wrong_version,  // ends with two versions of NCCL, or of RCCL
  wrong_result,   // a GPU got a wrong sum
  killed,         // a signal ended it
  internal,       // anything else
};

[[nodiscard]] std::string_view to_string(Reason reason);

struct Failure {
  Reason reason = Reason::internal;
  std::string text;  // one sentence
};

// What is being done when something fails, in the order of time.
enum class Stage : std::uint8_t { driver, guard, memory, library, joining, measuring };

// Of everything but NCCL's own calls. The vendor says whether it is called NCCL or RCCL.
[[nodiscard]] Failure failure_of(Stage stage, const Error& error, Vendor vendor);
[[nodiscard]] Failure failure_of(Stage stage, const NcclError& error, Vendor vendor);
[[nodiscard]] Failure failure_of_wrong_sum(const std::string& text);
// Of a call that does not come back; `text` is what Patience says of it.
[[nodiscard]] Failure failure_of_hanging(Stage stage, const std::string& text);

}  // namespace autopilot::probes::gpu
