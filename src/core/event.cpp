// SPDX-License-Identifier: Apache-2.0
#include "core/event.hpp"

#include "core/word_table.hpp"

namespace autopilot {
namespace {

constexpr WordTable<EventKind, 18> kEventKindWords{{
    {EventKind::agent_started, "agent_started"},
    {EventKind::agent_stopped, "agent_stopped"},
    {EventKind::finding_raised, "finding_raised"},
    {EventKind::finding_changed, "finding_changed"},
    {EventKind::finding_cleared, "finding_cleared"},
    {EventKind::incident_opened, "incident_opened"},
    {EventKind::incident_changed, "incident_changed"},
    {EventKind::incident_closed, "incident_closed"},
    {EventKind::operation_started, "operation_started"},
    {EventKind::operation_finished, "operation_finished"},
    {EventKind::kernel_record, "kernel_record"},
    {EventKind::records_lost, "records_lost"},
    {EventKind::configuration_loaded, "configuration_loaded"},
    {EventKind::configuration_refused, "configuration_refused"},
    {EventKind::fault_injected, "fault_injected"},
    {EventKind::acknowledged, "acknowledged"},
    {EventKind::journal_moved_aside, "journal_moved_aside"},
    {EventKind::validation_finished, "validation_finished"},
}};

}  // namespace

std::string_view to_string(EventKind kind) {
  return word_of(kEventKindWords, kind);
}

std::optional<EventKind> parse_event_kind(std::string_view word) {
  return value_of(kEventKindWords, word);
}

}  // namespace autopilot
