// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "host/ethtool/ethtool.hpp"
#include "host/ethtool/ethtool_netlink.hpp"
#include "host/ethtool/module.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::module_fuzz {
namespace {

void check(const std::optional<host::ModuleMonitor>& monitor) {
  if (!monitor) return;
  AUTOPILOT_ASSERT(std::isfinite(monitor->value));
  if (monitor->limits) AUTOPILOT_ASSERT(monitor->limits->high_alarm > monitor->limits->low_alarm);
}

// A plugged module can return any data: each requested byte is the next byte of the input, which repeats from
// its beginning.
void plug_in(std::string_view input) {
  std::size_t next = 0;
  const auto memory =
      host::read_module_memory([&](const host::ModulePlace& place, std::size_t size) -> Result<std::string> {
        AUTOPILOT_ASSERT(size > 0 && size <= host::ModuleMemory::kMaxPart && place.offset + size <= 256);
        std::string bytes;
        while (bytes.size() < size)
          bytes += input[next++ % input.size()];
        return bytes;
      });
  AUTOPILOT_ASSERT(memory && memory->parts.size() <= host::ModuleMemory::kMaxParts);
  const auto module = host::parse_module(*memory);
  if (module) {
    check(module->celsius);
    check(module->volts);
    AUTOPILOT_ASSERT(module->lanes.size() <= 8);
    for (const host::ModuleLane& lane : module->lanes)
      check(lane.received_mw);
  }
  const host::EthtoolPort port{host::PortLink{}, host::PortFec{}, *memory};
  const auto again = host::parse_ethtool_port(host::format_ethtool_port(port));
  AUTOPILOT_ASSERT(again && again->module->parts == memory->parts);
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (!input.empty()) plug_in(input);
  static_cast<void>(host::parse_ethtool_port(input));
  static_cast<void>(host::parse_link_attributes(input));
  static_cast<void>(host::parse_fec_attributes(input));
  static_cast<void>(host::parse_module_attributes(input));
  return 0;
}

}  // namespace autopilot::module_fuzz
