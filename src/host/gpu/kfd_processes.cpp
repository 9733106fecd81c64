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
constexpr std::string_view kProcesses = "/sys/class/kfd/kfd/proc";

// The numbers by which the driver knows its GPUs.
struct GpuIds {
  std::map<std::string, std::string> addresses;  // by number
  bool some_denied = false;
};

// A row "location_id 15104" of the properties of a node.
std::optional<std::uint64_t> property(std::string_view text, std::string_view name) {
  for (const std::string_view line : split(text, '\n')) {
    const std::vector<std::string_view> words = split_words(line);
    if (words.size() == 2 && words[0] == name) return parse_number<std::uint64_t>(words[1]);
  }
  return std::nullopt;
}

// Bus, device and function in 16 bits.
std::string address_of(std::uint64_t domain, std::uint64_t location) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.%x", static_cast<unsigned>(domain),
                static_cast<unsigned>(location >> 8U) & 0xffU, static_cast<unsigned>(location >> 3U) & 0x1fU,
                static_cast<unsigned>(location) & 0x7U);
  return text.data();
}

// A processor is a node as well; its number is 0.
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
    if (location) ids.addresses[*id] = address_of(property(*properties, "domain").value_or(0), *location);
  }
  return ids;
}

}  // namespace

Result<KfdProcesses> read_kfd_processes(const Files& files) {
  const GpuIds ids = TRY(read_gpu_ids(files));
  KfdProcesses processes;
  processes.some_denied = ids.some_denied;
  for (const auto& [id, address] : ids.addresses)
    if (!processes.by_gpu.try_emplace(address).second) processes.divided.insert(address);
  std::size_t looked_at = 0;
  for (const std::string& name : TRY(files.list(kProcesses))) {
    const auto pid = parse_number<std::int64_t>(name);
    if (!pid || looked_at++ >= kMostKfdProcesses) continue;
    for (const auto& [id, address] : ids.addresses) {
      const std::string file = std::string(kProcesses).append("/").append(name).append("/vram_").append(id);
      if (files.read_integer(file).value_or(0) > 0) processes.by_gpu[address].push_back(*pid);
    }
  }
  // A GPU that is divided has a number for each of its parts.
  for (auto& [address, pids] : processes.by_gpu) {
    std::sort(pids.begin(), pids.end());
    pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  }
  return processes;
}

}  // namespace autopilot::host
