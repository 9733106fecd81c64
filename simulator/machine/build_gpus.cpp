// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/parse.hpp"
#include "core/yaml_text.hpp"
#include "machine/build.hpp"

namespace autopilot::simulator {
namespace {

// The hexadecimal number that NVML reports: device id above vendor id.
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
  // The chips of a machine have slightly different temperatures.
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

double reading_of(const GpuDescription& gpu, std::string_view name) {
  const YamlNode* value = gpu.readings.find(name);
  return value == nullptr ? 0 : std::stod(value->text);
}

// GB/s of each lane, by the generation of the link, and the share that copies of pinned memory reach.
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
  const auto reading = [&gpu](std::string_view name) { return static_cast<int>(reading_of(gpu, name)); };
  return {std::clamp(reading("pcie.generation_max"), 1, static_cast<int>(std::size(kLane))),
          reading("pcie.width_max")};
}

// Results of a healthy GPU of a model; plausible, not measured.
struct Rates {
  std::string_view model;
  double memory = 0;  // GB/s of a copy
  double fp64 = 0;    // TFLOP/s
  double bf16 = 0;
  int multiprocessors = 0;
  double peer = 0;  // GB/s to another GPU
};
constexpr std::array<Rates, 4> kRates{{
    {"NVIDIA H100 80GB HBM3", 2960, 51.4, 482, 132, 378},
    {"NVIDIA B200", 6850, 29.3, 1010, 148, 748},
    {"NVIDIA A100-SXM4-80GB", 1790, 15.6, 187, 108, 247},
    {"NVIDIA L40S", 702, 1.3, 148, 142, 22.4},
}};

constexpr std::string_view kGigabytes = "gigabytes_per_second";
constexpr std::string_view kTeraflops = "teraflops";
constexpr std::string_view kCount = "count";

// Results of one test: `probes` of machine.yaml.
class ProbeWriter {
 public:
  ProbeWriter(Machine& machine, const std::string& check) : prefix_(check.substr(check.find('.') + 1) + ".") {
    YamlNode& probe = yaml_member(yaml_member(machine.machine, "probes"), check);
    yaml_member(probe, "takes") = yaml_word("1s");
    found_ = &yaml_member(probe, "found");
    *found_ = yaml_list();
    add("outcome", "host", yaml_word("measured"));
  }

  void add(const std::string& name, const std::string& subject, YamlNode value, std::string_view unit = "") {
    add_whole(prefix_ + name, subject, std::move(value), unit);
  }
  void add_model(const std::string& subject, const std::string& model) {
    add_whole("gpu.model", subject, yaml_word(model), "");
  }

 private:
  void add_whole(const std::string& name, const std::string& subject, YamlNode value, std::string_view unit) {
    YamlNode& one = found_->items.emplace_back(yaml_map());
    yaml_member(one, "name") = yaml_word(name);
    yaml_member(one, "subject") = yaml_word(subject);
    yaml_member(one, "source") = yaml_word("probe");
    yaml_member(one, "value") = std::move(value);
    if (!unit.empty()) yaml_member(one, "unit") = yaml_word(unit);
  }

  std::string prefix_;
  YamlNode* found_ = nullptr;
};

void build_copies(const LinkUnderLoad& link, const std::string& gpu, ProbeWriter& probe) {
  probe.add("host_to_device", gpu, yaml_number(link.copy_rate()), kGigabytes);
  probe.add("device_to_host", gpu, yaml_number(link.copy_rate()), kGigabytes);
  probe.add("generation", gpu, yaml_integer(link.generation));
  probe.add("lanes", gpu, yaml_integer(link.lanes));
  probe.add("wrong", gpu, yaml_integer(0), kCount);
}

void build_memory(const Rates& rates, const std::string& gpu, ProbeWriter& probe) {
  for (const char* kernel : {"copy", "scale", "triad", "daxpy"})
    probe.add(kernel, gpu, yaml_number(rates.memory), kGigabytes);
  probe.add("wrong", gpu, yaml_integer(0), kCount);
}

void build_arithmetic(const GpuDescription& description, const Rates& rates, const std::string& gpu,
                      ProbeWriter& probe) {
  constexpr int kHeat = 31;
  constexpr double kDrawn = 0.9;  // of the power limit
  const double copies = link_of(description).copy_rate();
  probe.add("host_to_device_pinned", gpu, yaml_number(copies), kGigabytes);
  probe.add("device_to_host_pinned", gpu, yaml_number(copies), kGigabytes);
  probe.add("daxpy", gpu, yaml_number(rates.memory), kGigabytes);
  probe.add("dgemm", gpu, yaml_number(rates.fp64), kTeraflops);
  probe.add("bf16", gpu, yaml_number(rates.bf16), kTeraflops);
  probe.add("temperature", gpu, yaml_number(reading_of(description, "temperature.gpu") + kHeat), "celsius");
  probe.add("power", gpu, yaml_number(reading_of(description, "power.limit") * kDrawn), "watts");
  probe.add("sm_clock", gpu, yaml_number(reading_of(description, "clocks.sm_max")), "megahertz");
  probe.add("wrong", gpu, yaml_integer(0), kCount);
}

// All GPUs of a machine can access each other.
void build_peers(const Rates& rates, const std::vector<Slot>& gpus, ProbeWriter& probe) {
  for (const Slot& from : gpus) {
    const std::string gpu = "gpu/" + from.address;
    probe.add("peers", gpu, yaml_integer(gpus.size() - 1), kCount);
    probe.add("direct", gpu, yaml_integer(gpus.size() - 1), kCount);
    probe.add("wrong", gpu, yaml_integer(0), kCount);
    for (const Slot& to : gpus) {
      if (to.address == from.address) continue;
      const std::string link = "link/" + from.address + "|" + to.address;
      probe.add("write", link, yaml_number(rates.peer), kGigabytes);
      probe.add("read", link, yaml_number(rates.peer), kGigabytes);
    }
  }
}

void build_probes(const Description& description, const GpuDescription& gpu, Machine& machine) {
  const std::vector<Slot> slots = description.slots("gpu");
  const auto for_each_gpu = [&](const std::string& check, const auto& build) {
    ProbeWriter probe(machine, check);
    for (const Slot& slot : slots) {
      probe.add_model("gpu/" + slot.address, gpu.name);
      build("gpu/" + slot.address, probe);
    }
  };
  for_each_gpu("gpu.pcie_bandwidth", [link = link_of(gpu)](const std::string& subject, ProbeWriter& probe) {
    build_copies(link, subject, probe);
  });
  const auto rates = std::ranges::find(kRates, gpu.name, &Rates::model);
  if (rates == kRates.end()) return;
  for_each_gpu("gpu.memory_bandwidth",
               [&](const std::string& subject, ProbeWriter& probe) { build_memory(*rates, subject, probe); });
  for_each_gpu("gpu.compute", [&](const std::string& subject, ProbeWriter& probe) {
    build_arithmetic(gpu, *rates, subject, probe);
  });
  for_each_gpu("gpu.memory_test", [&](const std::string& subject, ProbeWriter& probe) {
    constexpr double kTested = 0.9;  // of the memory
    const double bytes = std::floor(reading_of(gpu, "memory.total") * kTested);
    probe.add("bytes", subject, yaml_integer(static_cast<std::int64_t>(bytes)), "bytes");
    probe.add("passes", subject, yaml_integer(6), kCount);
    probe.add("wrong", subject, yaml_integer(0), kCount);
  });
  for_each_gpu("gpu.sdc", [&](const std::string& subject, ProbeWriter& probe) {
    probe.add("multiprocessors", subject, yaml_integer(rates->multiprocessors), kCount);
    probe.add("wrong", subject, yaml_integer(0), kCount);
  });
  ProbeWriter peers(machine, "gpu.p2p");
  build_peers(*rates, slots, peers);
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

namespace {

constexpr std::string_view kNodes = "/sys/class/kfd/kfd/topology/nodes/";
constexpr std::size_t kUniqueIdDigits = 16;

// Bus, device and function in 16 bits, as the compute driver (KFD) numbers them.
unsigned location_of(const std::string& address) {
  const std::string_view text = address;
  const auto part = [text](std::size_t begin, std::size_t length) {
    return parse_hex<unsigned>(text.substr(begin, length)).value_or(0);
  };
  return (part(5, 2) << 8U) | (part(8, 2) << 3U) | part(11, 1);
}

void write_gpu(const Description& description, const AmdGpuDescription& gpu, const Slot& slot, int index,
               FileTree& files) {
  const std::string folder = files.resolve("/sys/bus/pci/devices/" + slot.address).value_or("") + "/";
  const std::string sensors = "hwmon/hwmon" + std::to_string(4 + index);
  constexpr std::string_view kSensors = "hwmon";
  for (const auto& [name, text] : gpu.files) {
    const bool is_sensor = name.starts_with(kSensors);
    const std::string path = is_sensor ? sensors + name.substr(kSensors.size()) : name;
    if (text.empty())
      files.write(folder + path, "");
    else
      files.write_value(folder + path, text);
  }
  files.write_value(folder + "unique_id", hex_of(description.id + slot.address, kUniqueIdDigits));
  files.write_number(folder + "serial_number", gpu.first_serial + index * 17);
  // The chips of a machine have slightly different temperatures.
  const std::string junction = std::string(folder).append(sensors).append("/temp2_input");
  constexpr std::int64_t kDegree = 1000;
  files.write_number(junction, files.number(junction).value_or(0) + index * 3 % 5 * kDegree);
}

void write_node(int number, std::int64_t gpu_id, const std::string& properties, FileTree& files) {
  const std::string folder = std::string(kNodes) + std::to_string(number);
  files.write_number(folder + "/gpu_id", gpu_id);
  files.write(folder + "/properties", properties);
}

}  // namespace

void build_amd_gpus(const Description& description, Machine& machine) {
  if (!description.amd_gpu) return;
  FileTree& files = machine.files;
  files.write_value("/sys/module/amdgpu/initstate", "live");
  files.make_directory("/sys/class/kfd/kfd/proc");
  for (int socket = 0; socket < description.sockets; ++socket)
    write_node(socket, 0, "cpu_cores_count 96\nsimd_count 0\nlocation_id 0\ndomain 0\n", files);
  int index = 0;
  for (const Slot& slot : description.slots("amd_gpu")) {
    write_gpu(description, *description.amd_gpu, slot, index, files);
    constexpr std::int64_t kFirstGpuId = 11743;
    write_node(description.sockets + index, kFirstGpuId + index * 4099,
               "cpu_cores_count 0\nsimd_count 1216\nlocation_id " +
                   std::to_string(location_of(slot.address)) + "\ndomain 0\n",
               files);
    ++index;
  }
}

}  // namespace autopilot::simulator
