// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <optional>
#include <string>

#include "core/clock.hpp"

namespace autopilot::cli {

// An option that accepts "500ms", "2s", "1h30m"; other text is a usage error.
void add_duration_option(CLI::App& verb, const std::string& name, std::optional<Duration>& duration,
                         const std::string& description);

}  // namespace autopilot::cli
