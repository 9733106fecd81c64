// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "api/json.hpp"
#include "core/result.hpp"
#include "learning/adoption/version.hpp"

// Versions of what was learned, as JSON. Pure.
namespace autopilot::api {

// One object on one line, and its checksum on a second one: the text of a file. parse_version reads the same
// version from it.
[[nodiscard]] std::string format_version(const learning::Version& version);
// malformed: damaged, cut off, another member, a value out of range, steps that contradict each other.
// unsupported: written by a newer Autopilot.
[[nodiscard]] Result<learning::Version> parse_version(std::string_view text);

// The members of a version, in an object that is open.
void write_version(JsonWriter& json, const learning::Version& version);

}  // namespace autopilot::api
