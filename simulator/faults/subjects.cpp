// SPDX-License-Identifier: Apache-2.0
#include "faults/subjects.hpp"

#include <algorithm>

#include "core/parse.hpp"

namespace autopilot::simulator {
namespace {

std::vector<std::string> links_of(const Machine& machine) {
  std::vector<std::string> keys;
  const YamlNode* gpus = machine.nvml ? machine.nvml->find("gpus") : nullptr;
  if (gpus == nullptr) return keys;
  for (const YamlMember& gpu : gpus->members)
    if (const YamlNode* links = gpu.value.find("links"))
      for (std::size_t i = 0; i < links->items.size(); ++i)
        keys.push_back(gpu.key + "/" + std::to_string(i));
  return keys;
}

std::vector<std::string> amd_gpus(const FileTree& files) {
  std::vector<std::string> keys;
  for (const std::string& address : files.list("/sys/bus/pci/devices"))
    if (files.text("/sys/bus/pci/devices/" + address + "/mem_info_vram_total") != nullptr)
      keys.push_back(address);
  return keys;
}

std::vector<std::string> infiniband_ports(const FileTree& files) {
  std::vector<std::string> keys;
  for (const std::string& device : files.list("/sys/class/infiniband"))
    for (const std::string& port : files.list("/sys/class/infiniband/" + device + "/ports"))
      keys.push_back(std::string(device).append("/").append(port));
  return keys;
}

std::vector<std::string> ethernet_ports(const FileTree& files) {
  std::vector<std::string> keys;
  for (const std::string& name : files.list("/sys/class/net")) {
    const std::string path = "/sys/class/net/" + name;
    if (files.resolve(path + "/device") && files.value(path + "/type") == "1") keys.push_back(name);
  }
  return keys;
}

// NVMe controllers, as the checks name them; other disks by name.
std::vector<std::string> block_disks(const FileTree& files) {
  std::vector<std::string> keys = files.list("/sys/class/nvme");
  for (const std::string& name : files.list("/sys/block"))
    if (!name.starts_with("nvme")) keys.push_back(name);
  return keys;
}

std::vector<std::string> raid_arrays(const FileTree& files) {
  std::vector<std::string> keys;
  for (const std::string& name : files.list("/sys/block"))
    if (!files.list("/sys/block/" + name + "/md").empty()) keys.push_back(name);
  return keys;
}

std::vector<std::string> nfs_mounts(const FileTree& files) {
  std::vector<std::string> keys;
  const std::string* text = files.text("/proc/self/mountstats");
  if (text == nullptr) return keys;
  for (const std::string_view line : split(*text, '\n')) {
    const auto words = split_words(line);
    if (words.size() > 7 && words[0] == "device" && words[7].starts_with("nfs")) keys.emplace_back(words[4]);
  }
  return keys;
}

// Kinds of the table that have another name in the core.
std::string_view core_kind(std::string_view kind) {
  if (kind == "infiniband" || kind == "ethernet") return "nic_port";
  if (kind == "nfs") return "mount";
  if (kind == "amd_gpu") return "gpu";
  return kind == "block" || kind == "raid" ? "disk" : kind;
}

}  // namespace

std::vector<std::string> subject_keys(std::string_view kind, const Machine& machine) {
  if (kind == "gpu") return machine.gpus();
  if (kind == "amd_gpu") return amd_gpus(machine.files);
  if (kind == "nvlink") return links_of(machine);
  if (kind == "infiniband") return infiniband_ports(machine.files);
  if (kind == "ethernet") return ethernet_ports(machine.files);
  if (kind == "disk") return machine.files.list("/sys/class/nvme");
  if (kind == "block") return block_disks(machine.files);
  if (kind == "raid") return raid_arrays(machine.files);
  if (kind == "nfs") return nfs_mounts(machine.files);
  if (kind == "mount") {
    std::vector<std::string> keys;
    if (const YamlNode* mounts = machine.machine.find("filesystems"))
      for (const YamlMember& mount : mounts->members)
        keys.push_back(mount.key);
    // The first is the default for a fault without a subject.
    std::stable_partition(keys.begin(), keys.end(), [](const std::string& key) { return key == "/"; });
    return keys;
  }
  return {""};
}

Result<std::string> subject_key(std::string_view kind, std::string_view text, const Machine& machine) {
  const auto keys = subject_keys(kind, machine);
  std::string_view rest = text;
  const std::string prefix = std::string(core_kind(kind)) + "/";
  if (rest.starts_with(prefix)) rest.remove_prefix(prefix.size());
  if (rest == core_kind(kind)) rest = {};
  if (rest.empty() && !keys.empty()) return keys.front();
  if (std::find(keys.begin(), keys.end(), rest) != keys.end()) return std::string(rest);
  if (kind == "nvlink") {
    const auto parts = split(rest, '/');
    const auto gpus = machine.gpus();
    const auto number = parse_number<std::size_t>(parts[0]);
    if (parts.size() == 2 && number && *number < gpus.size()) {
      const std::string key = gpus[*number] + "/" + std::string(parts[1]);
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) return key;
    }
  } else if (const auto number = parse_number<std::size_t>(rest); number && *number < keys.size()) {
    return keys[*number];
  }
  std::string known;
  for (std::size_t i = 0; i < std::min<std::size_t>(keys.size(), 12); ++i)
    known += " " + prefix + keys[i];
  return fail(Errc::not_found, "unknown subject `" + std::string(text) + "` of kind " + std::string(kind) +
                                   (known.empty() ? "; the machine has none" : "; there are" + known));
}

}  // namespace autopilot::simulator
