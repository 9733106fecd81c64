// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace autopilot {

enum class Action : std::uint8_t {
  none,
  restart_app,
  check_application,
  run_diagnostics,
  drain_p2p,
  drain_then_reset_gpu,
  reset_gpu,
  recover_imex,
  restart_fabric_manager,
  reboot_node,
  restart_vm,
  power_cycle,
  update_software,
  check_mechanicals,
  inspect_hardware,
  replace,
  contact_vendor,
};

[[nodiscard]] std::string_view to_string(Action action);
[[nodiscard]] std::optional<Action> parse_action(std::string_view word);

// True for the actions of the EVICT row: no job can run on the device until the action is done.
[[nodiscard]] bool takes_device_out_of_service(Action action);

// The stronger of two actions. Actions that take the device out of service are stronger than all others.
[[nodiscard]] Action stronger(Action a, Action b);

}  // namespace autopilot
