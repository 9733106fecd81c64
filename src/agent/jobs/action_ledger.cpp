// SPDX-License-Identifier: Apache-2.0
#include "agent/jobs/action_ledger.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "api/job_findings.hpp"
#include "api/json.hpp"
#include "core/word_table.hpp"
#include "host/files/files.hpp"
#include "host/files/replace_file.hpp"

namespace autopilot::agent {
namespace {

constexpr int kActionsVersion = 1;

constexpr WordTable<ActionState, 4> kActionStates{{{ActionState::begun, "begun"},
                                                   {ActionState::done, "done"},
                                                   {ActionState::partly, "partly"},
                                                   {ActionState::failed, "failed"}}};

std::optional<ActionState> parse_action_state(std::string_view word) {
  return value_of(kActionStates, word);
}

std::optional<jobs::Choice> parse_action_choice(std::string_view word) {
  using enum jobs::Choice;
  for (const jobs::Choice choice : {keep_running, swap_at_checkpoint, stop_now, restart_in_place})
    if (jobs::to_string(choice) == word) return choice;
  return std::nullopt;
}

ActionEntry read_action(const api::JsonObject& object) {
  ActionEntry entry;
  entry.finding = object.word("finding");
  entry.state = object.choice("state", parse_action_state);
  entry.time = object.time("time");
  entry.request = {.job = object.word("job"),
                   .choice = object.choice("choice", parse_action_choice),
                   .culprit = object.object("culprit", api::read_culprit),
                   .cause = object.word_or_empty("cause"),
                   .is_known = true};
  return entry;
}

struct ActionFile {
  int version = 0;
  std::vector<ActionEntry> actions;
};

ActionFile read_action_file(const api::JsonObject& object) {
  return {.version = object.small_integer("version"), .actions = object.list("actions", read_action)};
}

}  // namespace

std::string_view to_string(ActionState state) {
  return word_of(kActionStates, state);
}

std::string format_actions(const std::vector<ActionEntry>& entries) {
  api::JsonWriter json;
  json.begin_object();
  json.integer("version", kActionsVersion);
  json.begin_list("actions");
  for (const ActionEntry& entry : entries) {
    json.begin_object();
    json.word("finding", entry.finding);
    json.word("state", to_string(entry.state));
    json.time("time", entry.time);
    json.word("job", entry.request.job);
    json.word("choice", jobs::to_string(entry.request.choice));
    api::write_culprit(json, entry.request.culprit);
    json.word_if_any("cause", entry.request.cause);
    json.end_object();
  }
  json.end_list();
  json.end_object();
  return json.take();
}

Result<std::vector<ActionEntry>> parse_actions(std::string_view text) {
  auto document = TRY(api::JsonDocument::parse(text));
  ActionFile file = TRY(document.read(read_action_file));
  if (file.version != kActionsVersion)
    return fail(Errc::malformed, "version " + std::to_string(file.version) + " of the record is not known");
  if (file.actions.size() > ActionLedger::kMostEntries)
    return fail(Errc::malformed, "more than " + std::to_string(ActionLedger::kMostEntries) + " actions");
  return std::move(file.actions);
}

Result<ActionLedger> ActionLedger::open(const std::string& path) {
  const auto text = host::Files().read(path, kMostBytes);
  if (!text && text.error().code == Errc::not_found) return ActionLedger(path, {});
  if (!text) return fail(text.error());
  auto entries = parse_actions(*text);
  if (!entries) return fail(entries.error().code, path + ": " + entries.error().what);
  return ActionLedger(path, *std::move(entries));
}

const ActionEntry* ActionLedger::find(std::string_view finding) const {
  const auto found = std::ranges::find(entries_, finding, &ActionEntry::finding);
  return found == entries_.end() ? nullptr : &*found;
}

Status ActionLedger::put(const ActionEntry& entry) {
  std::vector<ActionEntry> next = entries_;
  std::erase_if(next, [&](const ActionEntry& held) { return held.finding == entry.finding; });
  if (next.size() >= kMostEntries) next.erase(next.begin());
  next.push_back(entry);
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), error);
  if (error) return fail_errno(error.value(), "folder of " + path_);
  TRY_STATUS(host::replace_file(path_, format_actions(next)));
  entries_ = std::move(next);
  return {};
}

void count_actions(const std::vector<ActionEntry>& entries, WallTime now, jobs::Brain& brain) {
  for (const ActionEntry& entry : entries) {
    if (!entry.counts()) continue;
    jobs::WantedAction action{.finding = {}, .request = entry.request, .owner = {}};
    action.finding.id = entry.finding;
    brain.acted(action, std::min(entry.time, now));
  }
}

}  // namespace autopilot::agent
