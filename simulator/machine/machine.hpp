// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "core/yaml.hpp"
#include "machine/file_tree.hpp"

namespace autopilot::simulator {

// One record of kmsg.jsonl.
struct LogRecord {
  int priority = 6;                       // facility * 8 + level
  std::optional<std::uint64_t> sequence;  // nullopt: the one after the previous record
  double seconds = 0;                     // since boot
  std::string text;
  bool injected = false;  // marked by `autopilot inject`
  bool verified = true;   // false: from a source without a facility
  std::uint64_t lost =
      0;                // not 0: the ring overwrote this number of records here; the other fields are empty
  std::string error{};  // not empty: the log is unreadable from here on, for this reason
};

// A whole machine tree in memory (docs/machine-tree.md).
struct Machine {
  FileTree files;
  YamlNode machine;              // machine.yaml
  std::optional<YamlNode> nvml;  // nvml.yaml; nullopt: no NVML library
  std::vector<LogRecord> log;    // oldest first

  // Seconds since boot at the time of machine.yaml.
  [[nodiscard]] double uptime_seconds() const;
  // PCI addresses of the GPUs in NVML's order.
  [[nodiscard]] std::vector<std::string> gpus() const;
  // The node of one GPU in nvml.yaml, or null.
  [[nodiscard]] YamlNode* gpu(std::string_view pci_address);
};

[[nodiscard]] std::string log_text(const std::vector<LogRecord>& log);
// malformed names `file` and the line.
[[nodiscard]] Result<std::vector<LogRecord>> parse_log(std::string_view text, const std::string& file);

}  // namespace autopilot::simulator
