// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/result.hpp"
#include "core/value.hpp"

namespace autopilot::simulator::nvml {

// Misbehaviour of a function.
enum class Misbehaviour : std::uint8_t { hang, abort, segfault };

// A reading's value, or NVML's error code.
using Answer = std::variant<Value, int>;
using Readings = std::map<std::string, Answer, std::less<>>;

// A part of a divided GPU.
struct InstanceState {
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
  std::string uuid;
};

struct GpuModelState {
  std::string address;  // PCI address in the kernel's format
  int state = 0;        // NVML's code for every call about this GPU
  std::string name;
  std::string uuid;
  std::string serial;
  std::string vbios;
  std::uint32_t pci_device_id = 0;
  std::uint32_t pci_subsystem_id = 0;
  Readings readings;            // names and units of host/gpu/readings.hpp
  std::vector<Readings> links;  // one for each NVLink
  std::vector<InstanceState> instances;

  // Null: the instance was removed.
  [[nodiscard]] const InstanceState* instance(std::size_t place) const {
    return place < instances.size() ? &instances[place] : nullptr;
  }
};

struct XidEvent {
  std::uint64_t id = 0;  // increases
  std::string gpu;
  std::uint64_t xid = 0;
};

// nvml.yaml (docs/machine-tree.md).
struct DriverModel {
  std::string version;
  std::string nvml_version;
  int cuda_version = 0;
  int init = 0;                                                                   // NVML's code of init
  std::map<std::string, std::variant<Misbehaviour, int>, std::less<>> functions;  // "*": every one
  std::vector<GpuModelState> gpus;                                                // in NVML's order
  std::vector<XidEvent> events;

  [[nodiscard]] const GpuModelState* find(std::string_view address) const;
};

// gpu_readings.txt (docs/machine-tree.md): replaces readings of the model. malformed: names the row.
[[nodiscard]] Status apply_live_readings(std::string_view text, DriverModel& model);

// malformed: every problem with its line.
[[nodiscard]] Result<DriverModel> parse_driver_model(std::string_view text, const std::string& file);

}  // namespace autopilot::simulator::nvml
