// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/yaml.hpp"
#include "host/host.hpp"
#include "host/machine_tree/record_files.hpp"

namespace autopilot::cli {

// A machine as the parts of a machine tree (docs/machine-tree.md).
struct Recording {
  host::RecordedFiles files;
  YamlNode machine;               // machine.yaml
  std::optional<YamlNode> nvml;   // nvml.yaml; nothing: there is no NVML library
  std::string kernel_log;         // kmsg.jsonl
  std::vector<std::string> gaps;  // what could not be recorded, for a person
};

// Looks at everything a check may look at. Blocks for as long as the slowest door takes to give up.
[[nodiscard]] Result<Recording> record_machine(const host::Host& host, const std::string& node,
                                               const std::string& boot_id);

// Writes the tree into a directory that must not exist, or be empty (conflict) and of this user (denied);
// what it holds is read by this user alone, for the kernel log is among it. With `scrub` serials, UUIDs,
// addresses and host names are replaced by stand-ins, the same one for the same value everywhere.
[[nodiscard]] Status write_recording(const Recording& recording, const std::string& directory, bool scrub);

}  // namespace autopilot::cli
