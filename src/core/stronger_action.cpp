// SPDX-License-Identifier: Apache-2.0
#include "core/stronger_action.hpp"

#include <algorithm>
#include <array>

namespace autopilot {

Action stronger(Action a, Action b) {
  constexpr std::array kByStrength{Action::none,
                                   Action::contact_vendor,
                                   Action::restart_app,
                                   Action::check_application,
                                   Action::update_software,
                                   Action::run_diagnostics,
                                   Action::check_mechanicals,
                                   Action::inspect_hardware,
                                   Action::recover_imex,
                                   Action::restart_fabric_manager,
                                   Action::drain_p2p,
                                   Action::drain_then_reset_gpu,
                                   Action::reset_gpu,
                                   Action::restart_vm,
                                   Action::reboot_node,
                                   Action::power_cycle,
                                   Action::replace};
  return std::ranges::find(kByStrength, a) < std::ranges::find(kByStrength, b) ? b : a;
}

}  // namespace autopilot
