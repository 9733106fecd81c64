// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nccl/connection.hpp"
#include "probes/gpu/nccl/nccl_abi.h"

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

// For a large buffer, the simulated ranks exchange only its beginning, its middle and its end, so that a
// megabyte costs no more than a page; the rest is unchanged. A small buffer is exchanged completely.
inline constexpr std::size_t kWindowBytes = 8192;

struct Window {
  std::size_t offset = 0;  // in bytes
  std::size_t bytes = 0;
};
[[nodiscard]] std::vector<Window> windows_of(std::size_t bytes);

// Bytes of an element; 0 if the simulated library does not support the type.
[[nodiscard]] std::size_t size_of(probes::gpu::nccl::DataType type);

// Adds `more` to `sum`, or takes the larger or smaller of both, element by element; both have the same size.
void reduce(std::span<std::byte> sum, std::span<const std::byte> more, probes::gpu::nccl::DataType type,
            probes::gpu::nccl::Operation operation);

// Messages between the ranks and the root of a communicator, in memory layout: both sides use the same
// library on machines of one kind.

// The first message of a rank; the root ignores clients without the secret.
struct Hello {
  std::uint64_t secret;
  double bits_per_second;
  std::int32_t version;
  std::int32_t ranks;
  std::int32_t rank;
  std::int32_t unused;
};

// The response when all ranks have joined.
struct Welcome {
  double bits_per_second;  // of the slowest
  std::int32_t code;       // other than success: the communicator failed
  std::int32_t rank;       // rank that the code is about,
  std::int32_t version;    // and its version
  std::int32_t unused;
};

// From a rank, followed by the windows of its buffer; the root responds with the same and the windows of the
// result.
struct Collective {
  std::uint64_t count;
  std::int32_t type;
  std::int32_t operation;
  std::uint64_t bytes;  // behind it
};

inline constexpr std::size_t kMostWindowBytes = 3 * kWindowBytes;

namespace abi = probes::gpu::nccl;

// A failed call, with the text of ncclGetLastError.
struct MemberError {
  abi::Return code = abi::kSuccess;
  std::string text;
};

// The two halves of a collective step, so that several ranks of one thread can do the first halves before one
// of them waits. nullopt: success.
[[nodiscard]] std::optional<MemberError> send_hello(abi::CommunicatorTag& member, const abi::UniqueId& id,
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

// Starts the root thread of one communicator: it waits until all ranks have joined, reduces their data, and
// sends the result to all. If one rank leaves, all are disconnected. Clients without the secret of the place
// are refused. The thread ends with the communicator, or with the process.
void start_root(Connection listener, const Place& place);

}  // namespace autopilot::simulator::nccl
