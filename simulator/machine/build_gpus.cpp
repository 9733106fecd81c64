// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/yaml_text.hpp"
#include "machine/build.hpp"

namespace autopilot::simulator {
namespace {

// The hexadecimal number NVML shows: device id above vendor id.
std::string joined_id(const std::string& device, const std::string& vendor) {
  return "0x" + device.substr(2) + vendor.substr(2);
}

YamlNode link_node(const GpuDescription& gpu, const std::string& remote) {
  YamlNode link = gpu.link_readings;
  if (!remote.empty()) yaml_member(link, "nvlink.remote") = yaml_word(remote);
  return link;
}

YamlNode links_of(const Description& description, const GpuDescription& gpu) {
  YamlNode links = yaml_list();
  const auto switches = description.slots("nvswitch");
  for (std::size_t i = 0; i < gpu.links_per_switch.size() && i < switches.size(); ++i)
    for (int link = 0; link < gpu.links_per_switch[i]; ++link)
      links.items.push_back(link_node(gpu, switches[i].address));
  for (int link = 0; link < gpu.links_without_switch; ++link)
    links.items.push_back(link_node(gpu, ""));
  return links;
}

std::string gpu_uuid(const Description& description, const Slot& slot) {
  return "GPU-" + uuid_of(description.id + slot.address);
}

YamlNode gpu_node(const Description& description, const GpuDescription& gpu, const Slot& slot, int index) {
  const DeviceKind& kind = description.kinds.find("gpu")->second;
  YamlNode node = yaml_map();
  yaml_member(node, "state") = yaml_integer(0);
  yaml_member(node, "name") = yaml_word(gpu.name);
  yaml_member(node, "uuid") = yaml_word(gpu_uuid(description, slot));
  yaml_member(node, "serial") = yaml_word(std::to_string(gpu.first_serial + index * 17));
  yaml_member(node, "vbios") = yaml_word(gpu.vbios);
  yaml_member(node, "pci_device_id") = yaml_word(joined_id(kind.device, kind.vendor));
  yaml_member(node, "pci_subsystem_id") = yaml_word(joined_id(kind.subsystem_device, kind.subsystem_vendor));
  YamlNode& readings = yaml_member(node, "readings");
  readings = yaml_map();
  yaml_member(readings, "minor") = yaml_integer(index);
  yaml_merge(readings, gpu.readings);
  // No two chips of a machine are equally warm.
  const YamlNode* temperature = gpu.readings.find("temperature.gpu");
  if (temperature != nullptr)
    yaml_member(readings, "temperature.gpu") = yaml_integer(std::stoi(temperature->text) + index * 3 % 5);
  if (YamlNode links = links_of(description, gpu); !links.items.empty())
    yaml_member(node, "links") = std::move(links);
  return node;
}

void write_procfs(const Description& description, const GpuDescription& gpu, const Slot& slot, int index,
                  FileTree& files) {
  const std::string uuid = gpu_uuid(description, slot);
  files.write(
      "/proc/driver/nvidia/gpus/" + slot.address + "/information",
      "Model: \t\t " + gpu.name + "\nIRQ:   \t\t " + std::to_string(420 + index) + "\nGPU UUID: \t " + uuid +
          "\nVideo BIOS: \t " + gpu.vbios +
          "\nBus Type: \t PCIe\nDMA Size: \t 52 bits\nDMA Mask: \t 0xfffffffffffff\nBus Location: \t " +
          slot.address + "\nDevice Minor: \t " + std::to_string(index) + "\nGPU Firmware: \t " +
          description.driver_version + "\nGPU Excluded:\t No\n");
}

void write_driver(const Description& description, FileTree& files) {
  files.write("/proc/driver/nvidia/version",
              "NVRM version: NVIDIA UNIX x86_64 Kernel Module  " + description.driver_version +
                  "  Tue Mar  5 22:42:15 UTC 2024\nGCC version:  gcc version 11.4.0\n");
  files.write("/proc/driver/nvidia/params", "EnableGpuFirmware: 18\nNVreg_EnablePCIeGen3: 0\n");
  files.write_value("/sys/module/nvidia/version", description.driver_version);
  for (const char* module : {"nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_peermem"})
    files.write_value("/sys/module/" + std::string(module) + "/initstate", "live");
}

// Of each lane in GB/s, by the generation of the link, and what copies of pinned memory get of that.
constexpr double kLane[] = {0.25, 0.5, 0.985, 1.969, 3.938, 7.563};
constexpr double kCopied = 0.87;

struct LinkUnderLoad {
  int generation = 1;
  int lanes = 0;

  [[nodiscard]] double copy_rate() const {
    constexpr double kTenths = 10;
    return std::round(kLane[generation - 1] * lanes * kCopied * kTenths) / kTenths;
  }
};

LinkUnderLoad link_of(const GpuDescription& gpu) {
  const auto reading = [&gpu](std::string_view name) {
    const YamlNode* value = gpu.readings.find(name);
    return value == nullptr ? 0 : std::stoi(value->text);
  };
  return {std::clamp(reading("pcie.generation_max"), 1, static_cast<int>(std::size(kLane))),
          reading("pcie.width_max")};
}

// What a test of the GPUs finds: `probes` of machine.yaml.
void build_probes(const Description& description, const GpuDescription& gpu, Machine& machine) {
  YamlNode& probe = yaml_member(yaml_member(machine.machine, "probes"), "gpu.pcie_bandwidth");
  yaml_member(probe, "takes") = yaml_word("1s");
  YamlNode& found = yaml_member(probe, "found");
  found = yaml_list();
  const auto add = [&found](const std::string& name, const std::string& subject) -> YamlNode& {
    YamlNode& one = found.items.emplace_back(yaml_map());
    yaml_member(one, "name") = yaml_word("pcie_bandwidth." + name);
    yaml_member(one, "subject") = yaml_word(subject);
    yaml_member(one, "source") = yaml_word("probe");
    return yaml_member(one, "value");
  };
  add("outcome", "host") = yaml_word("measured");
  const LinkUnderLoad link = link_of(gpu);
  for (const Slot& slot : description.slots("gpu")) {
    const std::string subject = "gpu/" + slot.address;
    add("host_to_device", subject) = yaml_number(link.copy_rate());
    yaml_member(found.items.back(), "unit") = yaml_word("gigabytes_per_second");
    add("generation", subject) = yaml_integer(link.generation);
    add("lanes", subject) = yaml_integer(link.lanes);
  }
}

}  // namespace

void build_gpus(const Description& description, Machine& machine) {
  if (!description.gpu) return;
  write_driver(description, machine.files);
  YamlNode& nvml = machine.nvml.emplace(yaml_map());
  yaml_member(nvml, "schema") = yaml_word("autopilot.nvml/v1");
  YamlNode& driver = yaml_member(nvml, "driver");
  yaml_member(driver, "version") = yaml_word(description.driver_version);
  yaml_member(driver, "nvml_version") = yaml_word(description.nvml_version);
  yaml_member(driver, "cuda_version") = yaml_integer(description.cuda_version);
  yaml_member(driver, "init") = yaml_integer(0);
  YamlNode gpus = yaml_map();
  int index = 0;
  for (const Slot& slot : description.slots("gpu")) {
    YamlNode& node = yaml_member(gpus, slot.address);
    node = gpu_node(description, *description.gpu, slot, index);
    write_procfs(description, *description.gpu, slot, index, machine.files);
    ++index;
  }
  yaml_member(nvml, "gpus") = std::move(gpus);
  build_probes(description, *description.gpu, machine);
  for (const Slot& slot : description.slots("nvswitch"))
    machine.files.write("/proc/driver/nvidia-nvswitch/devices/" + slot.address + "/information",
                        "Device Instance: 0\nBus Location: " + slot.address + "\n");
}

}  // namespace autopilot::simulator
