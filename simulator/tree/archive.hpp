// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"
#include "machine/machine.hpp"

namespace autopilot::simulator {

// A complete machine in one text, because reading thousands of small files is slow.
[[nodiscard]] std::string archive_text(const Machine& machine);
// malformed: names `file`.
[[nodiscard]] Result<Machine> parse_archive(std::string_view text, const std::string& file);

}  // namespace autopilot::simulator
