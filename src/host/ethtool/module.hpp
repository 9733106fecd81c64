// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "host/ethtool/module_memory.hpp"

namespace autopilot::host {

// The module's own limits of one quantity, in the unit of the quantity.
struct ModuleLimits {
  double high_alarm = 0;
  double low_alarm = 0;
  double high_warning = 0;
  double low_warning = 0;
};

// One quantity that the module measures.
struct ModuleMonitor {
  double value = 0;
  std::optional<ModuleLimits> limits;  // nothing: the module has none, or none that make sense
};

// One lane of light. A quantity that the module does not measure is missing.
struct ModuleLane {
  int number = 1;
  std::optional<ModuleMonitor> received_mw;
  std::optional<ModuleMonitor> sent_mw;
  std::optional<ModuleMonitor> bias_ma;  // current of the laser
};

// The identity and measurements that a plugged module reports.
struct Module {
  std::string kind;  // "SFP", "QSFP", "CMIS": how its memory is laid out
  std::string vendor;
  std::string part;  // number of the vendor
  bool is_copper = false;
  // Of CMIS: "low_power", "powering_up", "ready", "powering_down", "fault"; empty: of another kind.
  std::string state;
  std::string fault;  // the cause, where the module reports a fault
  std::optional<ModuleMonitor> celsius;
  std::optional<ModuleMonitor> volts;
  std::vector<ModuleLane> lanes;  // the lanes in use; empty: nothing is measured
};

// Of the parts that read_module_memory takes. malformed: a checksum is wrong, or the bytes are those of a bus
// without a device that answers (all one). unsupported: a kind of module that is not known here. unavailable:
// the module is not ready yet, or a part that is needed could not be read.
[[nodiscard]] Result<Module> parse_module(const ModuleMemory& memory);

}  // namespace autopilot::host
