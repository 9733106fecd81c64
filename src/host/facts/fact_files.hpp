// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace autopilot::host {

// Settings of the kernel that are facts of a machine: "vm.max_map_count".
[[nodiscard]] std::span<const std::string_view> fact_settings();
// "/proc/sys/vm/max_map_count"
[[nodiscard]] std::string setting_path(std::string_view name);

// Whether a kernel module matters for accelerators, networks or shared file systems.
[[nodiscard]] bool is_fact_module(std::string_view name);

// Files that the facts of a machine are read from and no check reads, for a recording. A `*` stands for any
// part of a name.
[[nodiscard]] std::vector<std::string> fact_files();

}  // namespace autopilot::host
