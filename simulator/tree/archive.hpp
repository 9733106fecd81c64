// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"
#include "machine/machine.hpp"

namespace autopilot::simulator {

// A whole machine in one text, where thousands of small files would be slow to read.
[[nodiscard]] std::string archive_text(const Machine& machine);
// malformed names `file`.
[[nodiscard]] Result<Machine> parse_archive(std::string_view text, const std::string& file);

}  // namespace autopilot::simulator
