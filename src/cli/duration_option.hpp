// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <optional>
#include <string>

#include "core/clock.hpp"

namespace autopilot::cli {

// An option that takes "500ms", "2s", "1h30m"; anything else is an error of usage.
void add_duration_option(CLI::App& verb, const std::string& name, std::optional<Duration>& duration,
                         const std::string& description);

}  // namespace autopilot::cli
