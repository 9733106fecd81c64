// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"
#include "workloads/compare/side.hpp"

namespace autopilot::cli {

// Larger files, and more files in the folder of a side, are Errc::exhausted.
inline constexpr std::size_t kMaxSideFileBytes = std::size_t{256} << 20;
inline constexpr std::size_t kMaxSideFiles = 1000;

// Reads one side: a file, or all files of a folder and its folders, each by its contents, ordered by path.
// `facts.yaml` in the folder states what cannot be measured. A file that is not a measurement is left out
// with the reason. not_found: no such path. malformed: no file could be read, or a wrong facts.yaml.
[[nodiscard]] Result<workloads::compare::Side> read_side(std::string_view letter, const std::string& path);

// A whole file of at most kMaxSideFileBytes.
[[nodiscard]] Result<std::string> read_side_file(const std::string& path);

}  // namespace autopilot::cli
