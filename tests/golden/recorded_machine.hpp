// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/recording/recording.hpp"
#include "core/clock.hpp"
#include "host/open_host.hpp"
#include "machine/description.hpp"

namespace autopilot::golden {

// The machine tree in a directory, at one moment. A failed expectation if it cannot be opened.
[[nodiscard]] host::OpenedHost open_machine(const std::string& directory, Instant now);

// As write_recording writes it, for a bench that writes only what differs from the recording before.
[[nodiscard]] simulator::Machine machine_of(const cli::Recording& recording);

}  // namespace autopilot::golden
