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
  std::optional<YamlNode> nvml;   // nvml.yaml; nullopt: no NVML library
  std::string kernel_log;         // kmsg.jsonl
  std::vector<std::string> gaps;  // messages about data that could not be recorded
};

// Reads everything that checks may read. Blocks until the slowest backend answers or gives up.
[[nodiscard]] Result<Recording> record_machine(const host::Host& host, const std::string& node,
                                               const std::string& boot_id);

// Writes the tree into a new directory, or into an empty one (else conflict) of this user (else denied). Only
// this user can read the files, because they include the kernel log. `scrub_report`: content of
// scrub-report.yaml; empty: no such file.
[[nodiscard]] Status write_recording(const Recording& recording, const std::string& directory,
                                     const std::string& scrub_report = {});

}  // namespace autopilot::cli
