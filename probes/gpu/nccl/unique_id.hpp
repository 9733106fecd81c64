// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "probes/gpu/nccl/nccl_abi.h"

namespace autopilot::probes::gpu {

// 256 hexadecimal digits, in lower case. A process with the id can join the communicator.
[[nodiscard]] std::string to_text(const nccl::UniqueId& id);
// Accepts upper case as well; nullopt if the text is not 256 digits.
[[nodiscard]] std::optional<nccl::UniqueId> parse_unique_id(std::string_view text);

}  // namespace autopilot::probes::gpu
