// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "core/yaml.hpp"
#include "machine/machine.hpp"

namespace autopilot::simulator {

// One fault of one machine, from a scenario or `autopilot-sim inject`.
struct Fault {
  std::string id;
  std::string subject;              // "gpu/3", "nic_port/mlx5_0/1", ...; empty: the first of its kind
  std::optional<double> magnitude;  // not set: the default of the fault type
  std::string kind;                 // one of FaultType::kinds; empty: the first
  Duration at{0};                   // since the start of the scenario; negative: present before the start
  std::optional<Duration> until;    // not set: it does not end
};

class FaultEffect;

// One row of the table of faults.
struct FaultType {
  std::string_view id;
  std::string_view title;
  std::string_view subject;  // "gpu", "amd_gpu", "nvlink", "infiniband", "ethernet", "disk", "block", "raid",
                             // "mount", "nfs", "host"
  std::string_view magnitude;  // meaning and unit of the magnitude; empty: none
  double default_magnitude = 0;
  std::vector<std::string_view> kinds;  // empty: no kinds
  void (*apply)(FaultEffect&) = nullptr;
  bool moves = false;  // the machine changes continuously during the fault
};

[[nodiscard]] std::span<const FaultType> fault_types();
[[nodiscard]] const FaultType* find_fault_type(std::string_view id);

// The fault with its subject as a key and all defaults set. not_found: unknown fault, subject or kind on this
// machine; the text names the known ones.
[[nodiscard]] Result<Fault> resolve_fault(const Fault& fault, const Machine& machine);

// Applies a resolved fault to a machine as of `elapsed`: to all data sources of a real machine (driver,
// sysfs, kernel log), and after its end the remaining traces.
void apply_fault(const Fault& fault, Duration elapsed, Machine& machine);

// Keys fault, subject, magnitude, kind, until, and `at` or `age`.
[[nodiscard]] Fault read_fault(const YamlNode& node, YamlProblems& problems);
[[nodiscard]] YamlNode fault_node(const Fault& fault);

// The key that a text selects: empty the first of its kind, "gpu/3" the fourth, "gpu/<address>" that one,
// "nvlink/3/7" link 7 of the fourth GPU. not_found names the known ones.
[[nodiscard]] Result<std::string> subject_key(std::string_view kind, std::string_view text,
                                              const Machine& machine);

}  // namespace autopilot::simulator
