// SPDX-License-Identifier: Apache-2.0
#include "api/wire.hpp"

#include <cmath>
#include <variant>

namespace autopilot::api {

namespace {

bool is_writable(const Value& value) {
  const auto* number = std::get_if<double>(&value);
  return number == nullptr || std::isfinite(*number);
}

void write_subject_members(JsonWriter& out, const Subject& subject) {
  out.word("kind", to_string(subject.kind));
  out.word("key", subject.key);
  if (subject.index) out.integer("index", *subject.index);
  out.word_if_any("uuid", subject.uuid);
  out.word_if_any("serial", subject.serial);
}

void write_observation(JsonWriter& out, const Observation& observation) {
  const bool has_value = observation.value && is_writable(*observation.value);
  out.begin_object();
  out.word("name", observation.name);
  write_subject(out, "subject", observation.subject);
  if (has_value) out.value("value", *observation.value);
  out.word_if_any("unit", observation.unit);
  out.word_if_any("source", observation.source);
  out.time_if_any("time", observation.time.wall);
  if (observation.value && !has_value)
    out.word("missing", "not_finite");
  else
    out.word_if_any("missing", observation.missing);
  if (observation.sequence) out.count("sequence", *observation.sequence);
  if (!observation.attributes.empty()) out.attributes("attributes", observation.attributes);
  out.end_object();
}

}  // namespace

void write_subject(JsonWriter& out, std::string_view name, const Subject& subject) {
  out.begin_object(name);
  write_subject_members(out, subject);
  out.end_object();
}

Subject read_subject(const JsonObject& object) {
  Subject subject;
  subject.kind = object.choice("kind", parse_subject_kind);
  subject.key = object.word("key");
  if (object.has("index")) subject.index = object.small_integer("index");
  subject.uuid = object.word_or_empty("uuid");
  subject.serial = object.word_or_empty("serial");
  return subject;
}

void write_subjects(JsonWriter& out, std::string_view name, const std::vector<Subject>& subjects) {
  out.begin_list(name);
  for (const auto& subject : subjects) {
    out.begin_object();
    write_subject_members(out, subject);
    out.end_object();
  }
  out.end_list();
}

void write_observations(JsonWriter& out, const Observations& observations) {
  out.begin_list("observations");
  for (const auto& observation : observations)
    write_observation(out, observation);
  out.end_list();
}

Observation read_observation(const JsonObject& object) {
  Observation observation;
  observation.name = object.word("name");
  observation.subject = object.object("subject", read_subject);
  observation.value = object.value_if_any("value");
  observation.unit = object.word_or_empty("unit");
  observation.source = object.word_or_empty("source");
  observation.time.wall = object.time_if_any("time").value_or(WallTime{});
  observation.missing = object.word_or_empty("missing");
  if (object.has("sequence")) observation.sequence = object.count("sequence");
  observation.attributes = object.attributes("attributes");
  return observation;
}

void write_finding_members(JsonWriter& out, const Finding& finding) {
  write_subject(out, "subject", finding.subject);
  out.word("health", to_string(finding.health));
  out.word("reason", finding.reason);
  out.word("message", finding.message);
  out.attributes("evidence", finding.evidence);
  out.word("action", to_string(finding.action));
  out.time_if_any("since", finding.since);
  out.time_if_any("lastSeen", finding.last_seen);
  out.word_if_any("clearsWhen", finding.clears_when);
  out.flag_if_set("injected", finding.injected);
  out.flag_if_set("held", finding.held);
}

Finding read_finding(const JsonObject& object) {
  Finding finding;
  finding.subject = object.object("subject", read_subject);
  finding.health = object.choice("health", parse_health);
  finding.reason = object.word("reason");
  finding.message = object.word("message");
  finding.evidence = object.attributes("evidence");
  finding.action = object.choice("action", parse_action);
  finding.since = object.time_if_any("since").value_or(WallTime{});
  finding.last_seen = object.time_if_any("lastSeen").value_or(WallTime{});
  finding.clears_when = object.word_or_empty("clearsWhen");
  finding.injected = object.flag_or_false("injected");
  finding.held = object.flag_or_false("held");
  return finding;
}

}  // namespace autopilot::api
