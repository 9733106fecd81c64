// SPDX-License-Identifier: Apache-2.0
#include "host/storage/nvme_sysfs.hpp"

#include "core/parse.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kClass = "/sys/class/nvme";

// nvme0, not nvme0n1 and not a path of a multipath subsystem.
bool is_controller(std::string_view name) {
  return name.starts_with("nvme") && parse_number<unsigned>(name.substr(4)).has_value();
}

}  // namespace

Result<std::vector<NvmeController>> read_nvme_controllers(const Files& files) {
  std::vector<NvmeController> controllers;
  const auto names = files.list(kClass);
  if (!names) {
    if (names.error().code != Errc::not_found) return fail(names.error());
    if (files.exists("/sys/class")) return controllers;
    return fail(Errc::unavailable, std::string(kClass) + ": no sysfs");
  }
  for (const std::string& name : *names) {
    if (!is_controller(name)) continue;
    const auto word = [&](std::string_view attribute) {
      return files.read_word(std::string(kClass) + "/" + name + "/" + std::string(attribute)).value_or("");
    };
    controllers.push_back({.name = name,
                           .state = word("state"),
                           .model = word("model"),
                           .serial = word("serial"),
                           .firmware = word("firmware_rev")});
  }
  return controllers;
}

}  // namespace autopilot::host
