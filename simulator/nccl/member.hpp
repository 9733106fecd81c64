// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "nccl/connection.hpp"
#include "nccl/message.hpp"

// The object behind a communicator: one rank, and its connection to the root.
namespace autopilot::probes::gpu::nccl {

struct CommunicatorTag {
  simulator::nccl::Connection root;
  int rank = 0;
  int ranks = 0;
  double bits_per_second = 0;
  std::int64_t words = 0;  // number of received 64-bit words
  Return async_error = kSuccess;
};

}  // namespace autopilot::probes::gpu::nccl

namespace autopilot::simulator::nccl {

namespace abi = probes::gpu::nccl;

// A failed call, with the text of ncclGetLastError.
struct MemberError {
  abi::Return code = abi::kSuccess;
  std::string text;
};

// The two halves of a collective step, so that several ranks of one thread can do the first halves before one
// of them waits. nullopt: success.
[[nodiscard]] std::optional<MemberError> say_hello(abi::CommunicatorTag& member, const abi::UniqueId& id,
                                                   int version);
[[nodiscard]] std::optional<MemberError> wait_for_welcome(abi::CommunicatorTag& member, int version);

struct AllReduceCall {
  const void* send = nullptr;
  void* receive = nullptr;
  std::size_t count = 0;
  abi::DataType type = 0;
  abi::Operation operation = 0;
};
// False: the other ranks have left.
[[nodiscard]] bool send_windows(const abi::CommunicatorTag& member, const AllReduceCall& call);
[[nodiscard]] bool receive_windows(const abi::CommunicatorTag& member, const AllReduceCall& call);

// Simulated duration of the call with that bus bandwidth.
[[nodiscard]] double seconds_of(const abi::CommunicatorTag& member, const AllReduceCall& call);

}  // namespace autopilot::simulator::nccl
