// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "probes/gpu/nccl/nccl_abi.h"

namespace autopilot::probes::gpu {

// 256 hexadecimal digits, in lower case. Who has them can join the communicator.
[[nodiscard]] std::string to_text(const nccl::UniqueId& id);
// Takes capitals as well; nothing where it is anything else than 256 digits.
[[nodiscard]] std::optional<nccl::UniqueId> parse_unique_id(std::string_view text);

}  // namespace autopilot::probes::gpu
