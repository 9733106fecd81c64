// SPDX-License-Identifier: Apache-2.0
#include "probes/net/machine/locality.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <system_error>

#include "core/id_list.hpp"
#include "core/parse.hpp"

namespace autopilot::probes::net {
namespace {

namespace fs = std::filesystem;

// Such as a VLAN on a bond of adapters.
constexpr int kMostStories = 3;

std::optional<std::string> first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

std::vector<std::string> below(const std::string& folder) {
  constexpr std::string_view kLower = "lower_";
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (name.starts_with(kLower)) names.push_back(name.substr(kLower.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<Locality> locality_of(const std::string& interface, const std::string& sysfs, int stories) {
  const std::string folder = sysfs + "/class/net/" + interface;
  const auto node_text = first_line(folder + "/device/numa_node");
  const auto list_text = first_line(folder + "/device/local_cpulist");
  if (node_text && list_text) {
    const auto node = parse_number<int>(*node_text);
    auto processors = parse_id_list(*list_text);
    if (!node || *node < 0 || !processors || processors->empty()) return std::nullopt;
    return Locality{*node, std::move(*processors)};
  }
  if (stories > 0)
    for (const std::string& name : below(folder))
      if (auto found = locality_of(name, sysfs, stories - 1)) return found;
  return std::nullopt;
}

}  // namespace

std::optional<Locality> read_locality(const std::string& interface, const std::string& sysfs) {
  if (interface.empty() || interface.find('/') != std::string::npos || interface.starts_with("."))
    return std::nullopt;
  return locality_of(interface, sysfs, kMostStories);
}

std::vector<int> read_allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> processors;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return processors;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor)
    if (CPU_ISSET(static_cast<std::size_t>(processor), &set)) processors.push_back(processor);
  return processors;
}

Status run_only_on(const std::vector<int>& processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int processor : processors)
    if (processor >= 0 && processor < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(processor), &set);
  if (::sched_setaffinity(0, sizeof set, &set) == 0) return {};
  if (errno == EINVAL)
    return fail(Errc::denied, "this process is not allowed to run on any of the processors");
  return fail_errno(errno, "sched_setaffinity");
}

}  // namespace autopilot::probes::net
