// SPDX-License-Identifier: Apache-2.0
#include "nccl/windows.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace autopilot::simulator::nccl {
namespace {

namespace abi = probes::gpu::nccl;

template <class T>
void reduce_as(std::span<std::byte> sum, std::span<const std::byte> more, abi::Operation operation) {
  for (std::size_t offset = 0; offset + sizeof(T) <= sum.size(); offset += sizeof(T)) {
    T a{};
    T b{};
    std::memcpy(&a, sum.data() + offset, sizeof a);
    std::memcpy(&b, more.data() + offset, sizeof b);
    if (operation == abi::kMax)
      a = std::max(a, b);
    else if (operation == abi::kMin)
      a = std::min(a, b);
    else
      a += b;
    std::memcpy(sum.data() + offset, &a, sizeof a);
  }
}

}  // namespace

std::vector<Window> windows_of(std::size_t bytes) {
  if (bytes <= 3 * kWindowBytes) return {{.offset = 0, .bytes = bytes}};
  const std::size_t middle = bytes / 2 / kWindowBytes * kWindowBytes;
  return {{.offset = 0, .bytes = kWindowBytes},
          {.offset = middle, .bytes = kWindowBytes},
          {.offset = bytes - kWindowBytes, .bytes = kWindowBytes}};
}

std::size_t size_of(abi::DataType type) {
  if (type == abi::kFloat32) return sizeof(float);
  return type == abi::kUint64 ? sizeof(std::uint64_t) : 0;
}

void reduce(std::span<std::byte> sum, std::span<const std::byte> more, abi::DataType type,
            abi::Operation operation) {
  if (type == abi::kFloat32)
    reduce_as<float>(sum, more, operation);
  else
    reduce_as<std::uint64_t>(sum, more, operation);
}

}  // namespace autopilot::simulator::nccl
