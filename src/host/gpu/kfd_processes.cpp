// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/kfd_processes.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>

#include "core/parse.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kNodes = "/sys/class/kfd/kfd/topology/nodes";
constexpr std::string_view kKfdProcesses = "/sys/class/kfd/kfd/proc";
constexpr std::string_view kDevices = "/sys/bus/pci/devices/";
constexpr std::string_view kWhole = "SPX";  // not partitioned

// The driver's ids of its GPUs.
struct GpuIds {
  std::map<std::string, std::string> addresses;  // by id
  bool some_denied = false;
};

// The value of a row such as "location_id 15104" in the properties of a node.
std::optional<std::uint64_t> property(std::string_view text, std::string_view name) {
  for (const std::string_view line : split(text, '\n')) {
    const std::vector<std::string_view> words = split_words(line);
    if (words.size() == 2 && words[0] == name) return parse_number<std::uint64_t>(words[1]);
  }
  return std::nullopt;
}

// Bus, device and function in 16 bits.
std::string pci_address(std::uint64_t domain, std::uint64_t location) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.%x", static_cast<unsigned>(domain),
                static_cast<unsigned>(location >> 8U) & 0xffU, static_cast<unsigned>(location >> 3U) & 0x1fU,
                static_cast<unsigned>(location) & 0x7U);
  return text.data();
}

// Some versions of the driver give the parts of a partitioned GPU numbers of PCI functions that do not exist.
std::string on_bus(const Files& files, const std::string& address) {
  std::string first = address.substr(0, address.size() - 1) + "0";
  const auto is_there = [&files](const std::string& one) {
    return files.exists(std::string(kDevices) + one);
  };
  return !is_there(address) && is_there(first) ? first : address;
}

bool is_partitioned(const Files& files, const std::string& address) {
  const auto word = files.read_word(std::string(kDevices) + address + "/current_compute_partition");
  return word && !word->empty() && *word != kWhole;
}

// CPUs are nodes as well, with the id 0.
Result<GpuIds> read_gpu_ids(const Files& files) {
  GpuIds ids;
  for (const std::string& node : TRY(files.list(kNodes))) {
    const std::string folder = std::string(kNodes).append("/").append(node);
    const auto id = files.read_word(folder + "/gpu_id");
    ids.some_denied = ids.some_denied || (!id && id.error().code == Errc::denied);
    if (!id || id->empty() || *id == "0") continue;
    const auto properties = files.read(folder + "/properties", 65536);
    if (!properties) continue;
    const auto location = property(*properties, "location_id");
    if (!location) continue;
    ids.addresses[*id] = on_bus(files, pci_address(property(*properties, "domain").value_or(0), *location));
  }
  return ids;
}

// The GPUs of which the process holds memory or queues; empty optional if the driver does not report them.
std::optional<std::set<std::string>> gpus_of(const Files& files, const std::string& process,
                                             const GpuIds& ids) {
  std::set<std::string> held;
  bool is_reported = false;
  for (const auto& [id, address] : ids.addresses) {
    const auto bytes = files.read_integer(std::string(process).append("/vram_").append(id));
    is_reported = is_reported || bytes;
    if (bytes.value_or(0) > 0) held.insert(address);
  }
  const std::string queues = process + "/queues/";
  for (const std::string& queue : files.list(queues).value_or(std::vector<std::string>{})) {
    const auto id = files.read_word(std::string(queues).append(queue).append("/gpuid"));
    const auto known = id ? ids.addresses.find(*id) : ids.addresses.end();
    if (known != ids.addresses.end()) held.insert(known->second);
  }
  // The process may have ended meanwhile.
  if (is_reported || !held.empty() || !files.exists(process)) return held;
  return std::nullopt;
}

}  // namespace

Result<KfdProcesses> read_kfd_processes(const Files& files) {
  const GpuIds ids = TRY(read_gpu_ids(files));
  KfdProcesses processes;
  processes.some_denied = ids.some_denied;
  for (const auto& [id, address] : ids.addresses)
    if (!processes.by_gpu.try_emplace(address).second || is_partitioned(files, address))
      processes.divided.insert(address);
  std::size_t examined = 0;
  for (const std::string& name : TRY(files.list(kKfdProcesses))) {
    const auto pid = parse_number<std::int64_t>(name);
    if (!pid || ids.addresses.empty()) continue;
    const auto held = ++examined > kMostKfdProcesses
                          ? std::nullopt
                          : gpus_of(files, std::string(kKfdProcesses).append("/").append(name), ids);
    processes.some_untold = processes.some_untold || !held;
    for (const std::string& address : held.value_or(std::set<std::string>{}))
      processes.by_gpu[address].push_back(*pid);
  }
  for (auto& [address, pids] : processes.by_gpu)
    std::sort(pids.begin(), pids.end());
  return processes;
}

}  // namespace autopilot::host
