// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "core/result.hpp"

namespace autopilot::probes::gpu {

// A numeric address of IPv4 or IPv6, never a name.
[[nodiscard]] bool is_address(const std::string& text);

// The interface of this machine that has the address. Errc::not_found: none has.
[[nodiscard]] Result<std::string> interface_with(const std::string& address);

// What the variable says; nothing where there is none. It is gone then, and no longer stands where the kernel
// shows what this process was started with. While there is one thread.
[[nodiscard]] std::optional<std::string> take_variable(const char* name);

// Tells NCCL by its variables where to talk and where to write; a variable that somebody has set stays as it
// is. Before NCCL is opened, and while there is one thread. Errc::not_found: `bind` is not of this machine.
[[nodiscard]] Status prepare_environment(const std::optional<std::string>& bind);

}  // namespace autopilot::probes::gpu
