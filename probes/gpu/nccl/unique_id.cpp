// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/nccl/unique_id.hpp"

#include <algorithm>

#include "core/hex.hpp"

namespace autopilot::probes::gpu {

std::string to_text(const nccl::UniqueId& id) {
  return to_hex({id.bytes, sizeof id.bytes});
}

std::optional<nccl::UniqueId> parse_unique_id(std::string_view text) {
  nccl::UniqueId id{};
  if (text.size() != 2 * sizeof id.bytes) return std::nullopt;
  const auto bytes = from_hex(text);
  if (!bytes) return std::nullopt;
  std::copy(bytes->begin(), bytes->end(), id.bytes);
  return id;
}

}  // namespace autopilot::probes::gpu
