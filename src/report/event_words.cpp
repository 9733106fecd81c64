// SPDX-License-Identifier: Apache-2.0
#include "report/event_words.hpp"

#include <algorithm>
#include <array>

#include "catalog/action_text.hpp"
#include "core/incident.hpp"

namespace autopilot::report {
namespace {

std::string word_of(const Attributes& attributes, std::string_view name) {
  const Value* value = find_attribute(attributes, name);
  return value == nullptr ? std::string() : to_string(*value);
}

const Incident* incident_of(const Event& event, const NodeSnapshot& snapshot) {
  const auto found = std::ranges::find(snapshot.incidents, word_of(event.details, "incident"), &Incident::id);
  return found == snapshot.incidents.end() ? nullptr : &*found;
}

const Finding* cause_of(const Incident& incident) {
  const auto found = std::ranges::find(incident.members, false, &IncidentMember::sympathetic);
  return found == incident.members.end() ? nullptr : &found->finding;
}

std::string evidence_of(const Finding& finding) {
  if (const std::string line = word_of(finding.evidence, "line"); !line.empty()) return "; line: " + line;
  const std::string value = word_of(finding.evidence, "value");
  if (value.empty()) return "";
  const std::string threshold = word_of(finding.evidence, "threshold");
  return "; value " + value + (threshold.empty() ? "" : ", threshold " + threshold);
}

std::string gpu_users_of(const Incident& incident) {
  std::string text;
  for (const GpuUser& gpu_user : incident.gpu_users)
    text += (text.empty() ? "; concerns " : ", ") + to_string(gpu_user);
  return text;
}

// The most important part comes first, because a message may be cut.
std::string message_of(const Event& event, const Incident* incident) {
  std::string text = to_string(event.subject) + ": " + event.message;
  catalog::append_action(text, word_of(event.details, "action"));
  if (incident != nullptr) {
    text += gpu_users_of(*incident);
    if (const Finding* cause = cause_of(*incident)) text += evidence_of(*cause);
  }
  return text + "; incident " + word_of(event.details, "incident");
}

kube::EventFact fact_of_incident(const Event& event, const NodeSnapshot& snapshot) {
  kube::EventFact fact;
  const bool is_program = event.health == Health::healthy;  // records of the driver about a program
  fact.type = is_program ? kube::EventType::normal : kube::EventType::warning;
  fact.reason = camel_case(event.reason);
  fact.message = message_of(event, incident_of(event, snapshot));
  return fact;
}

kube::EventFact fact_of_end(const Event& event) {
  kube::EventFact fact;
  fact.reason = "IncidentClosed";
  fact.message = to_string(event.subject) + ": " + event.message + "; closed by " +
                 word_of(event.details, "closedBy") + "; incident " + word_of(event.details, "incident");
  return fact;
}

}  // namespace

bool is_told(const Event& event) {
  constexpr std::array kTold{EventKind::incident_opened, EventKind::incident_changed,
                             EventKind::incident_closed, EventKind::configuration_refused,
                             EventKind::journal_moved_aside};
  return !event.injected && std::ranges::find(kTold, event.kind) != kTold.end();
}

kube::EventFact fact_of(const Event& event, const NodeSnapshot& snapshot) {
  if (event.kind == EventKind::incident_closed) return fact_of_end(event);
  if (find_attribute(event.details, "incident") != nullptr) return fact_of_incident(event, snapshot);
  kube::EventFact fact;
  fact.type = kube::EventType::warning;
  fact.reason = camel_case(to_string(event.kind));
  fact.message = event.message;
  return fact;
}

std::string camel_case(std::string_view word) {
  std::string camel;
  bool is_start = true;
  for (const char c : word) {
    if (c != '_' && c != '.')
      camel += is_start && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    is_start = c == '_' || c == '.';
  }
  return camel;
}

}  // namespace autopilot::report
