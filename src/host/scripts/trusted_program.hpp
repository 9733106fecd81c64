// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <sys/types.h>

#include "core/result.hpp"

namespace autopilot::host {

// That nobody but root and `user` can change what is executed: the path is absolute, names a regular,
// executable file without links, and it and every folder above belong to root or `user` and cannot be written
// by others. The error names the place and the cure.
[[nodiscard]] Status check_trusted_program(const std::string& path, uid_t user);

}  // namespace autopilot::host
