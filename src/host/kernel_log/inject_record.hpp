// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result.hpp"

namespace autopilot::host {

// Writes one record to the running machine's kernel log, marked so that every reader of ours knows it for
// injected. The kernel gives it a facility of user space. denied: CAP_SYSLOG or the device is missing.
[[nodiscard]] Status inject_kernel_record(const std::string& text);

}  // namespace autopilot::host
