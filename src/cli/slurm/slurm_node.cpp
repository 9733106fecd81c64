// SPDX-License-Identifier: Apache-2.0
#include "cli/slurm/slurm_node.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "core/parse.hpp"

namespace autopilot::cli {
namespace {

constexpr std::string_view kNodeName = "NodeName=";

// Man page of sinfo, "NODE STATE CODES".
std::string_view state_of_mark(char mark) {
  switch (mark) {
    case '*':
      return "NOT_RESPONDING";
    case '~':
      return "POWERED_DOWN";
    case '#':
      return "POWERING_UP";
    case '!':
      return "POWER_DOWN";
    case '%':
      return "POWERING_DOWN";
    case '$':
      return "MAINT";
    case '@':
      return "REBOOT_REQUESTED";
    case '^':
      return "REBOOT_ISSUED";
    case '-':
      return "PLANNED";
    default:
      return {};
  }
}

// "IDLE*+DRAIN" has the states IDLE, NOT_RESPONDING and DRAIN.
std::vector<std::string> slurm_states(std::string_view text) {
  std::vector<std::string> states;
  for (const std::string_view part : split(text, '+')) {
    const std::size_t end = part.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
    if (end == 0 || part.empty()) continue;
    states.emplace_back(part.substr(0, end));
    if (end == std::string_view::npos) continue;
    if (const std::string_view state = state_of_mark(part[end]); !state.empty()) states.emplace_back(state);
  }
  return states;
}

// The value of a line that begins with the name; nullopt: another line.
std::optional<std::string_view> value_of_line(std::string_view line, std::string_view name) {
  line = trim(line);
  if (!line.starts_with(name)) return std::nullopt;
  return line.substr(name.size());
}

// "autopilot: gpu_lost 1-2 [root@2026-11-30T01:00:00]" without its author and time.
std::string without_author(std::string_view reason) {
  const std::size_t author = reason.rfind(" [");
  if (author != std::string_view::npos && reason.ends_with(']') &&
      reason.substr(author).find('@') != std::string_view::npos)
    reason = reason.substr(0, author);
  return to_printable(trim(reason));
}

}  // namespace

bool SlurmNode::is_in(std::string_view state) const {
  return std::ranges::find(states, state) != states.end();
}

bool SlurmNode::is_unavailable() const {
  constexpr std::array<std::string_view, 12> kUnavailable{
      "DRAIN",         "DRAINED",    "DRAINING",     "DOWN",          "FAIL",        "FAILING",
      "REBOOT_ISSUED", "POWER_DOWN", "POWERED_DOWN", "POWERING_DOWN", "POWERING_UP", "MAINT"};
  return std::ranges::any_of(kUnavailable, [this](std::string_view state) { return is_in(state); });
}

bool SlurmNode::is_only_drained() const {
  // What the node does, which kind of node it is, and for whom it is kept. An unknown state blocks.
  constexpr std::array<std::string_view, 15> kHarmless{
      "DRAIN",   "DRAINED",    "DRAINING", "IDLE",         "ALLOCATED",
      "MIXED",   "COMPLETING", "CLOUD",    "DYNAMIC_NORM", "DYNAMIC_FUTURE",
      "DYNAMIC", "EXTERNAL",   "PLANNED",  "RESERVED",     "BLOCKED"};
  const auto is_harmless = [&](const std::string& state) {
    return std::ranges::find(kHarmless, state) != kHarmless.end();
  };
  return is_in("DRAIN") && std::ranges::all_of(states, is_harmless);
}

Result<SlurmNode> parse_slurm_node(std::string_view text, std::string_view name) {
  SlurmNode node;
  for (const std::string_view line : split(text, '\n')) {
    if (const auto value = value_of_line(line, kNodeName)) {
      if (!node.name.empty()) return fail(Errc::malformed, "scontrol describes more than one node");
      node.name = value->substr(0, value->find(' '));
    } else if (const auto states = value_of_line(line, "State="); states && node.states.empty()) {
      node.states = slurm_states(states->substr(0, states->find(' ')));
    } else if (const auto reason = value_of_line(line, "Reason="); reason && node.reason.empty()) {
      node.reason = without_author(*reason);
    }
  }
  if (node.name != name)
    return fail(Errc::malformed, "scontrol does not describe the node '" + to_printable(name, 253) + "'");
  if (node.states.empty()) return fail(Errc::malformed, "scontrol states no state of the node " + node.name);
  return node;
}

}  // namespace autopilot::cli
