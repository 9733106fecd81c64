// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "core/yaml.hpp"
#include "machine/machine.hpp"

namespace autopilot::simulator {

// Common properties of all PCI devices of one kind.
struct DeviceKind {
  std::string vendor;
  std::string device;
  std::string subsystem_vendor;
  std::string subsystem_device;
  std::string class_code;
  std::string driver;
  std::string speed;       // "32.0 GT/s PCIe": the maximum of the device
  std::string idle_speed;  // speed of an idle link; empty: the same
  int width = 0;
};

struct Slot {
  std::string address;
  std::string kind;
  std::string name;  // "mlx5_0", "nvme2"; "-" if the kernel assigns none
};

// A root port, the switch below it if there is one, and their devices.
struct PciGroup {
  std::string root_port;
  std::string switch_port;  // empty: the devices are on the root port
  int numa = 0;
  std::vector<Slot> slots;
};

struct GpuDescription {
  std::string name;
  std::string vbios;
  std::int64_t first_serial = 0;
  std::vector<int> links_per_switch;  // NVLinks of each GPU to each NVSwitch in PCI order
  int links_without_switch = 0;       // NVLinks whose remote end the driver does not report
  YamlNode readings;                  // of each GPU (nvml.yaml)
  YamlNode link_readings;             // of each link
};

// GPUs of the driver amdgpu: the files in the folder of their PCI device.
struct AmdGpuDescription {
  std::int64_t first_serial = 0;
  std::map<std::string, std::string> files;  // path below the folder, "hwmon/..." for its sensors -> text
};

struct InfinibandDescription {
  std::string type;
  std::string firmware;
  std::string board;
  std::string rate;
  int gigabits = 0;
  std::string interface_prefix;
};

struct EthernetDescription {
  std::string name;
  int megabits = 0;
  std::string master;  // empty: none
};

struct NvmeDescription {
  std::vector<std::string> names;
  std::string model;
  std::string firmware;
  int gigabytes = 0;
  int used_percent = 0;
};

struct RaidDescription {
  std::string name;
  std::string level;
  std::vector<std::string> members;  // "nvme2n1"
};

struct MountDescription {
  std::string point;
  std::string source;
  std::string device;
  std::string type;
  std::string options;
  double gigabytes = 0;
  double used_ratio = 0;
  std::int64_t inodes = 0;
};

// The short description of a built-in machine: machines/<id>.yaml.
struct Description {
  std::string id;
  std::string title;
  std::string node;
  std::string vendor;
  std::string product;
  std::string bios;
  std::string kernel;
  std::string cpu_model;
  int cpu_threads = 0;
  int sockets = 0;
  int memory_gib = 0;
  std::string edac_driver;
  int memory_controllers = 0;
  int dimms_per_controller = 0;
  std::string clocksource;
  std::string clocksources;
  std::string driver_version;  // empty: no NVIDIA driver
  std::string nvml_version;
  int cuda_version = 0;
  std::map<std::string, DeviceKind, std::less<>> kinds;
  std::vector<PciGroup> pci;
  std::optional<GpuDescription> gpu;
  std::optional<AmdGpuDescription> amd_gpu;
  std::optional<InfinibandDescription> infiniband;
  std::vector<EthernetDescription> ethernet;
  std::optional<EthernetDescription> bond;
  std::vector<NvmeDescription> nvme;
  std::vector<RaidDescription> raid;
  std::vector<MountDescription> mounts;

  // Slots of one kind, ordered by address.
  [[nodiscard]] std::vector<Slot> slots(std::string_view kind) const;
};

struct BuiltinMachine {
  std::string id;
  std::string title;
};

// The compiled-in machines of machines/*.yaml.
[[nodiscard]] std::vector<BuiltinMachine> builtin_machines();
// not_found: the text names the known machines.
[[nodiscard]] Result<Machine> builtin_machine(std::string_view id);

}  // namespace autopilot::simulator
