// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "core/result.hpp"

namespace autopilot::probes::gpu {

// A numeric IPv4 or IPv6 address, never a host name.
[[nodiscard]] bool is_address(const std::string& text);

// The interface of this machine with the address. Errc::not_found: none.
[[nodiscard]] Result<std::string> interface_with(const std::string& address);

// The value of the variable; nullopt if it is not set. Removes the variable, also from the environment that
// the kernel shows for this process. Call it while there is one thread.
[[nodiscard]] std::optional<std::string> take_variable(const char* name);

// Sets NCCL's variables for its network interface and its output; variables that are set stay unchanged. Call
// it before NCCL is opened, and while there is one thread. Errc::not_found: `bind` is not an address of this
// machine.
[[nodiscard]] Status prepare_environment(const std::optional<std::string>& bind);

}  // namespace autopilot::probes::gpu
