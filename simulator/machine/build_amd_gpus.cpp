// SPDX-License-Identifier: Apache-2.0
#include "core/parse.hpp"
#include "machine/build.hpp"

namespace autopilot::simulator {
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
