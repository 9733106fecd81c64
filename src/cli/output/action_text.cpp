// SPDX-License-Identifier: Apache-2.0
#include "cli/output/action_text.hpp"

namespace autopilot::cli {
namespace {

std::string_view sentence_of(Action action) {
  switch (action) {
    case Action::none:
      return "";
    case Action::restart_app:
      return "restart the application";
    case Action::check_application:
      return "check the application";
    case Action::run_diagnostics:
      return "run diagnostics: autopilot test";
    case Action::drain_p2p:
      return "drain the peer-to-peer traffic of the GPU";
    case Action::drain_then_reset_gpu:
      return "drain the GPU, then reset it";
    case Action::reset_gpu:
      return "reset the GPU";
    case Action::recover_imex:
      return "recover the IMEX domain";
    case Action::restart_fabric_manager:
      return "restart the Fabric Manager";
    case Action::reboot_node:
      return "reboot the node";
    case Action::restart_vm:
      return "restart the virtual machine";
    case Action::power_cycle:
      return "power-cycle the node";
    case Action::update_software:
      return "update the software";
    case Action::check_mechanicals:
      return "check seating, cables and connectors";
    case Action::inspect_hardware:
      return "inspect the hardware";
    case Action::replace:
      return "replace the hardware";
    case Action::contact_vendor:
      return "contact the vendor";
  }
  return "";
}

}  // namespace

std::string action_text(Action action) {
  const std::string_view sentence = sentence_of(action);
  if (sentence.empty()) return "";
  return std::string(sentence) + " (" + std::string(to_string(action)) + ")";
}

void append_action(std::string& message, std::string_view id) {
  const auto action = parse_action(id);
  if (id.empty() || action == Action::none) return;
  message += message.ends_with('.') ? " Action: " : ". Action: ";
  message += action ? action_text(*action) : std::string(id);
}

}  // namespace autopilot::cli
