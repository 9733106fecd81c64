// SPDX-License-Identifier: Apache-2.0
#include "host/cpu/processors.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "core/parse.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kFolder = "/sys/devices/system/cpu/";

Result<std::vector<int>> ids_in(const Files& files, std::string_view name) {
  const std::string path = std::string(kFolder) + std::string(name);
  const std::string text = TRY(files.read(path));
  auto ids = parse_id_list(text);
  if (!ids) return fail(ids.error().code, path + ": " + ids.error().what);
  return ids;
}

std::optional<Duration> throttled(const Files& files, const std::string& processor) {
  const auto milliseconds =
      files.read_integer(processor + "/thermal_throttle/package_throttle_total_time_ms");
  if (!milliseconds || *milliseconds < 0) return std::nullopt;
  return std::chrono::milliseconds{*milliseconds};
}

// All processors of a package show the same counter, so the first one is read.
std::vector<ProcessorPackage> packages_of(const Files& files, const std::vector<int>& online) {
  std::vector<ProcessorPackage> packages;
  for (const int id : online) {
    const std::string processor = std::string(kFolder) + "cpu" + std::to_string(id);
    const auto package = files.read_integer(processor + "/topology/physical_package_id");
    if (!package || *package < 0 || *package > INT32_MAX) continue;
    const int number = static_cast<int>(*package);
    if (std::ranges::find(packages, number, &ProcessorPackage::id) == packages.end())
      packages.push_back({number, throttled(files, processor)});
  }
  std::ranges::sort(packages, {}, &ProcessorPackage::id);
  return packages;
}

}  // namespace

Result<Processors> read_processors(const Files& files) {
  const std::vector<int> online = TRY(ids_in(files, "online"));
  Processors processors;
  processors.online = online.size();
  if (const auto present = ids_in(files, "present")) processors.present = present->size();
  processors.smt = files.read_word(std::string(kFolder) + "smt/control").value_or("");
  processors.packages = packages_of(files, online);
  return processors;
}

Result<std::string> read_processor_model(const Files& files) {
  const std::string text = TRY(files.read("/proc/cpuinfo"));
  for (const std::string_view line : split(text, '\n')) {
    const auto colon = line.find(':');
    if (colon != std::string_view::npos && trim(line.substr(0, colon)) == "model name")
      return std::string(trim(line.substr(colon + 1)));
  }
  return std::string();
}

}  // namespace autopilot::host
