// SPDX-License-Identifier: Apache-2.0
#include "catalog/action_text.hpp"

#include "catalog/catalog.hpp"

namespace autopilot::catalog {

std::string action_text(Action action) {
  const ActionFacts* facts = builtin().action(action);
  if (facts == nullptr) return "";
  std::string text = facts->sentence;
  if (!facts->command.empty()) text += ": " + facts->command;
  return text + " (" + std::string(to_string(action)) + ")";
}

void append_action(std::string& message, std::string_view id) {
  const auto action = parse_action(id);
  if (id.empty() || action == Action::none) return;
  message += message.ends_with('.') ? " Action: " : ". Action: ";
  message += action ? action_text(*action) : std::string(id);
}

}  // namespace autopilot::catalog
