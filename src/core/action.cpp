// SPDX-License-Identifier: Apache-2.0

#include "core/action.hpp"

#include <algorithm>
#include <array>

#include "core/word_table.hpp"

namespace autopilot {

namespace {

constexpr WordTable<Action, 17> kActionWords{{
    {Action::none, "none"},
    {Action::restart_app, "restart_app"},
    {Action::check_application, "check_application"},
    {Action::run_diagnostics, "run_diagnostics"},
    {Action::drain_p2p, "drain_p2p"},
    {Action::drain_then_reset_gpu, "drain_then_reset_gpu"},
    {Action::reset_gpu, "reset_gpu"},
    {Action::recover_imex, "recover_imex"},
    {Action::restart_fabric_manager, "restart_fabric_manager"},
    {Action::reboot_node, "reboot_node"},
    {Action::restart_vm, "restart_vm"},
    {Action::power_cycle, "power_cycle"},
    {Action::update_software, "update_software"},
    {Action::check_mechanicals, "check_mechanicals"},
    {Action::inspect_hardware, "inspect_hardware"},
    {Action::replace, "replace"},
    {Action::contact_vendor, "contact_vendor"},
}};

}  // namespace

std::string_view to_string(Action action) {
  return word_of(kActionWords, action);
}

std::optional<Action> parse_action(std::string_view word) {
  return value_of(kActionWords, word);
}

bool takes_device_out_of_service(Action action) {
  switch (action) {
    case Action::drain_then_reset_gpu:
    case Action::reset_gpu:
    case Action::reboot_node:
    case Action::restart_vm:
    case Action::power_cycle:
    case Action::replace:
      return true;
    default:
      return false;
  }
}

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
