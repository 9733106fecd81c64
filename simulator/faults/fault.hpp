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

// One fault of one machine, as a scenario or `autopilot-sim inject` asks for it.
struct Fault {
  std::string id;
  std::string subject;              // "gpu/3", "nic_port/mlx5_0/1", ...; empty: the first of its kind
  std::optional<double> magnitude;  // nothing: the default of the kind of fault
  std::string kind;                 // one of FaultType::kinds; empty: the first
  Duration at{0};                   // since the scenario began; negative: it was there before
  std::optional<Duration> until;    // nothing: it stays
};

class FaultEffect;

// One row of THE table.
struct FaultType {
  std::string_view id;
  std::string_view title;
  std::string_view subject;  // "gpu", "amd_gpu", "nvlink", "infiniband", "ethernet", "disk", "block", "raid",
                             // "mount", "nfs", "host"
  std::string_view magnitude;  // what the number means; empty: there is none
  double default_magnitude = 0;
  std::vector<std::string_view> kinds;  // empty: there are none
  void (*apply)(FaultEffect&) = nullptr;
  bool moves = false;  // the machine changes all the time while it lasts
};

[[nodiscard]] std::span<const FaultType> fault_types();
[[nodiscard]] const FaultType* find_fault_type(std::string_view id);

// The fault with its subject as a key and every default filled in. not_found: no such fault, subject or kind
// on this machine; the text names what there is.
[[nodiscard]] Result<Fault> resolve_fault(const Fault& fault, const Machine& machine);

// Lays a resolved fault on a machine as it is at `elapsed`: every witness that a real machine would have
// (driver, sysfs, kernel log), and after its end what it left behind.
void apply_fault(const Fault& fault, Duration elapsed, Machine& machine);

// Keys fault, subject, magnitude, kind, until, and `at` or `age`.
[[nodiscard]] Fault read_fault(const YamlNode& node, YamlProblems& problems);
[[nodiscard]] YamlNode fault_node(const Fault& fault);

}  // namespace autopilot::simulator
