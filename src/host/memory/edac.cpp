// SPDX-License-Identifier: Apache-2.0
#include "host/memory/edac.hpp"

#include "core/parse.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kRoot = "/sys/devices/system/edac/mc";

bool is_numbered(std::string_view name, std::string_view prefix) {
  return name.starts_with(prefix) && parse_number<unsigned>(name.substr(prefix.size())).has_value();
}

Result<std::uint64_t> read_count(const Files& files, const std::string& path) {
  const std::int64_t count = TRY(files.read_integer(path));
  if (count < 0) return fail(Errc::malformed, path + ": a negative count");
  return static_cast<std::uint64_t>(count);
}

MemoryModule read_module(const Files& files, const std::string& folder, const std::string& name) {
  MemoryModule module;
  module.name = name;
  const std::string path = folder + "/" + name + "/dimm_";
  module.label = files.read_word(path + "label").value_or("");
  module.corrected = read_count(files, path + "ce_count");
  module.uncorrected = read_count(files, path + "ue_count");
  return module;
}

MemoryController read_controller(const Files& files, const std::string& name) {
  const std::string folder = std::string(kRoot) + "/" + name;
  MemoryController controller;
  controller.name = name;
  controller.corrected = read_count(files, folder + "/ce_count");
  controller.uncorrected = read_count(files, folder + "/ue_count");
  // The modules say where the errors of the controller are; it counts them by itself.
  for (const std::string& entry : files.list(folder).value_or(std::vector<std::string>{}))
    if (is_numbered(entry, "dimm") || is_numbered(entry, "rank"))
      controller.modules.push_back(read_module(files, folder, entry));
  return controller;
}

}  // namespace

Result<std::vector<MemoryController>> read_memory_controllers(const Files& files) {
  std::vector<MemoryController> controllers;
  const auto names = files.list(kRoot);
  if (!names && names.error().code == Errc::not_found) return controllers;
  if (!names) return fail(names.error());
  for (const std::string& name : *names)
    if (is_numbered(name, "mc")) controllers.push_back(read_controller(files, name));
  return controllers;
}

}  // namespace autopilot::host
