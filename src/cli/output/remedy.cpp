// SPDX-License-Identifier: Apache-2.0
#include "cli/output/remedy.hpp"

#include "catalog/catalog.hpp"

namespace autopilot::cli {
namespace {

std::string first_upper(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z')
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
  return text;
}

}  // namespace

std::string remedy_of(std::string_view reason_id, Action action) {
  const catalog::Reason* reason = catalog::builtin().reason(reason_id);
  const catalog::ActionFacts* facts = catalog::builtin().action(action);
  if (reason != nullptr && !reason->cure.empty() && (facts == nullptr || reason->action == action))
    return reason->cure;
  return facts == nullptr ? std::string() : first_upper(facts->sentence) + ".";
}

std::string command_for(Action action) {
  const catalog::ActionFacts* facts = catalog::builtin().action(action);
  return facts == nullptr ? std::string() : facts->command;
}

std::string reason_title(std::string_view reason_id, std::string otherwise) {
  const catalog::Reason* reason = catalog::builtin().reason(reason_id);
  return reason == nullptr ? std::move(otherwise) : reason->title;
}

}  // namespace autopilot::cli
