// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "api/v1.hpp"
#include "api/wire.hpp"
#include "core/gpu_user.hpp"
#include "core/parse.hpp"

namespace autopilot::api {

// Objects of the journal: incidents, operations, events.

namespace {

void write_member(JsonWriter& out, const IncidentMember& member) {
  out.begin_object();
  out.word("check", member.check);
  out.flag("sympathetic", member.sympathetic);
  if (member.cleared) out.time("cleared", *member.cleared);
  out.begin_object("finding");
  write_finding_members(out, member.finding);
  out.end_object();
  out.end_object();
}

IncidentMember read_member(const JsonObject& object) {
  IncidentMember member;
  member.check = object.word("check");
  member.sympathetic = object.flag("sympathetic");
  member.cleared = object.time_if_any("cleared");
  member.finding = object.object("finding", read_finding);
  return member;
}

void write_gpu_user(JsonWriter& out, const GpuUser& gpu_user) {
  out.begin_object();
  out.count("pid", static_cast<std::uint64_t>(gpu_user.pid));
  out.count("startedTicks", gpu_user.started_ticks);
  out.word("process", gpu_user.process);
  for (const GpuUserField& field : kGpuUserFields)
    out.word_if_any(field.name, gpu_user.owner.*field.member);
  out.time("firstSeen", gpu_user.first_seen);
  out.time("lastSeen", gpu_user.last_seen);
  out.end_object();
}

GpuUser read_gpu_user(const JsonObject& object) {
  GpuUser gpu_user;
  gpu_user.pid = static_cast<std::int64_t>(object.count("pid"));
  gpu_user.started_ticks = object.count("startedTicks");
  gpu_user.process = object.word("process");
  for (const GpuUserField& field : kGpuUserFields)
    gpu_user.owner.*field.member = object.word_or_empty(field.name);
  gpu_user.first_seen = object.time("firstSeen");
  gpu_user.last_seen = object.time("lastSeen");
  return gpu_user;
}

void write_incident_members(JsonWriter& out, const Incident& incident) {
  out.word("id", incident.id);
  out.word("state", to_string(incident.state));
  out.word("check", incident.check);
  out.word("reason", incident.reason);
  out.word_if_any("cause", incident.cause);
  if (incident.end) out.word("end", to_string(*incident.end));
  out.word_if_any("because", incident.because);
  write_subject(out, "blamed", incident.blamed);
  out.word("health", to_string(incident.health));
  out.word("action", to_string(incident.action));
  out.number("confidence", incident.confidence);
  out.word("summary", incident.summary);
  out.time("opened", incident.opened);
  out.time("updated", incident.updated);
  if (incident.closed) out.time("closed", *incident.closed);
  out.word_if_any("closedBy", incident.closed_by);
  out.flag("acknowledged", incident.acknowledged.has_value());
  if (incident.acknowledged) {
    out.word("acknowledgedBy", incident.acknowledged->by);
    out.time("acknowledgedAt", incident.acknowledged->at);
    out.word("acknowledgeReason", incident.acknowledged->reason);
  }
  out.flag_if_set("injected", incident.injected);
  out.begin_list("members");
  for (const auto& member : incident.members)
    write_member(out, member);
  out.end_list();
  if (incident.further > 0) out.count("furtherMembers", static_cast<std::uint64_t>(incident.further));
  if (incident.gpu_users.empty()) return;
  out.begin_list("workloads");
  for (const GpuUser& gpu_user : incident.gpu_users)
    write_gpu_user(out, gpu_user);
  out.end_list();
}

void write_operation_members(JsonWriter& out, const Operation& operation) {
  out.word("id", operation.id);
  out.word("kind", operation.kind);
  out.word("owner", operation.owner);
  out.word("state", to_string(operation.state));
  write_subjects(out, "reservation", operation.reservation);
  out.number("progress", operation.progress);
  out.word("message", operation.message);
  out.time("created", operation.created);
  if (operation.started) out.time("started", *operation.started);
  if (operation.finished) out.time("finished", *operation.finished);
  out.number("deadlineSeconds", to_seconds(operation.deadline));
  write_observations(out, operation.observations);
  out.flag("simulated", operation.simulated);
}

void write_operation(JsonWriter& out, const Operation& operation) {
  out.begin_object();
  write_operation_members(out, operation);
  out.end_object();
}

Operation read_operation(const JsonObject& object) {
  Operation operation;
  operation.id = object.word("id");
  operation.kind = object.word("kind");
  operation.owner = object.word("owner");
  operation.state = object.choice("state", parse_operation_state);
  operation.reservation = object.list("reservation", read_subject);
  operation.progress = object.number("progress");
  operation.message = object.word("message");
  operation.created = object.time("created");
  operation.started = object.time_if_any("started");
  operation.finished = object.time_if_any("finished");
  operation.deadline = object.seconds("deadlineSeconds");
  operation.observations = object.list("observations", read_observation);
  operation.simulated = object.flag_or_false("simulated");
  return operation;
}

void write_event(JsonWriter& out, const Event& event) {
  out.begin_object();
  out.count("id", event.id);
  out.time("time", event.time);
  out.word("bootId", event.boot_id);
  out.word("kind", to_string(event.kind));
  out.word_if_any("check", event.check);
  write_subject(out, "subject", event.subject);
  out.word("health", to_string(event.health));
  out.word_if_any("reason", event.reason);
  out.word("message", event.message);
  out.attributes("details", event.details);
  out.flag("durable", event.durable);
  out.flag("injected", event.injected);
  out.flag("simulated", event.simulated);
  out.end_object();
}

Event read_event(const JsonObject& object) {
  Event event;
  event.id = object.count("id");
  event.time = object.time("time");
  event.boot_id = object.word("bootId");
  event.kind = object.choice("kind", parse_event_kind);
  event.check = object.word_or_empty("check");
  event.subject = object.object("subject", read_subject);
  event.health = object.choice("health", parse_health);
  event.reason = object.word_or_empty("reason");
  event.message = object.word("message");
  event.details = object.attributes("details");
  event.durable = !object.has("durable") || object.flag("durable");  // older agents do not send it
  event.injected = object.flag_or_false("injected");
  event.simulated = object.flag_or_false("simulated");
  return event;
}

}  // namespace

void write_incident(JsonWriter& out, const Incident& incident) {
  out.begin_object();
  write_incident_members(out, incident);
  out.end_object();
}

Incident read_incident(const JsonObject& object) {
  Incident incident;
  incident.id = object.word("id");
  incident.state = object.choice("state", parse_incident_state);
  incident.check = object.word("check");
  incident.reason = object.word("reason");
  incident.cause = object.word_or_empty("cause");
  if (object.has("end")) incident.end = object.choice("end", parse_fault_end);
  incident.because = object.word_or_empty("because");
  incident.blamed = object.object("blamed", read_subject);
  incident.health = object.choice("health", parse_health);
  incident.action = object.choice("action", parse_action);
  incident.confidence = object.number("confidence");
  incident.summary = object.word("summary");
  incident.opened = object.time("opened");
  incident.updated = object.time("updated");
  incident.closed = object.time_if_any("closed");
  incident.closed_by = object.word_or_empty("closedBy");
  if (object.flag("acknowledged"))
    incident.acknowledged = {object.word("acknowledgedBy"), object.time("acknowledgedAt"),
                             object.word("acknowledgeReason")};
  incident.injected = object.flag_or_false("injected");
  incident.members = object.list("members", read_member);
  if (object.has("furtherMembers"))
    incident.further = static_cast<std::int64_t>(object.count("furtherMembers"));
  if (object.has("workloads")) incident.gpu_users = object.list("workloads", read_gpu_user);
  return incident;
}

std::string to_json(const Incident& incident, std::optional<bool> durable) {
  JsonWriter out;
  out.begin_object();
  write_incident_members(out, incident);
  if (durable) out.flag("durable", *durable);
  out.end_object();
  return out.take();
}

std::string to_json(const std::vector<Incident>& incidents, View view) {
  return write_items(incidents, view.simulated, write_incident);
}

Result<Incident> parse_incident(std::string_view json) {
  return read_text(json, read_incident);
}

Result<std::vector<Incident>> parse_incidents(std::string_view json) {
  return read_text(json, read_items<Incident, read_incident>);
}

std::string to_json(const Operation& operation, std::optional<bool> durable) {
  JsonWriter out;
  out.begin_object();
  write_operation_members(out, operation);
  if (durable) out.flag("durable", *durable);
  out.end_object();
  return out.take();
}

std::string to_json(const std::vector<Operation>& operations, View view) {
  return write_items(operations, view.simulated, write_operation);
}

Result<Operation> parse_operation(std::string_view json) {
  return read_text(json, read_operation);
}

Result<std::vector<Operation>> parse_operations(std::string_view json) {
  return read_text(json, read_items<Operation, read_operation>);
}

std::string to_json(const Event& event) {
  JsonWriter out;
  write_event(out, event);
  return out.take();
}

std::string to_json(const std::vector<Event>& events, View view) {
  return write_items(events, view.simulated, write_event);
}

Result<Event> parse_event(std::string_view json) {
  return read_text(json, read_event);
}

Result<std::vector<Event>> parse_events(std::string_view json) {
  return read_text(json, read_items<Event, read_event>);
}

// Requests to the agent, and its errors.

namespace {

Error read_error_body(const JsonObject& object) {
  Error error;
  error.code = object.choice("code", parse_errc);
  error.what = object.word("message");
  return error;
}

Error read_error(const JsonObject& object) {
  return object.object("error", read_error_body);
}

OperationRequest read_operation_request(const JsonObject& object) {
  object.has_only({"kind", "reservation", "deadlineSeconds"});
  OperationRequest request;
  request.kind = object.word("kind");
  if (object.has("reservation")) request.reservation = object.list("reservation", read_subject);
  if (object.has("deadlineSeconds")) request.deadline = object.seconds("deadlineSeconds");
  return request;
}

AcknowledgeRequest read_acknowledge_request(const JsonObject& object) {
  object.has_only({"reason"});
  return {object.word("reason")};
}

InjectRequest read_inject_request(const JsonObject& object) {
  object.has_only({"fault", "subject", "magnitude", "durationSeconds"});
  InjectRequest request;
  request.fault = object.word("fault");
  if (object.has("subject")) request.subject = object.object("subject", read_subject);
  if (object.has("magnitude")) request.magnitude = object.number("magnitude");
  if (object.has("durationSeconds")) request.duration = object.seconds("durationSeconds");
  return request;
}

Receipt read_receipt(const JsonObject& object) {
  Receipt receipt;
  receipt.id = object.word("id");
  receipt.durable = object.flag("durable");
  return receipt;
}

}  // namespace

std::string to_json(const Error& error) {
  JsonWriter out;
  out.begin_object();
  out.begin_object("error");
  out.word("code", to_string(error.code));
  out.word("message", error.what);
  out.end_object();
  out.end_object();
  return out.take();
}

Error parse_error(std::string_view json) {
  auto error = read_text(json, read_error);
  return error ? *std::move(error) : std::move(error).error();
}

std::string to_json(const OperationRequest& request) {
  JsonWriter out;
  out.begin_object();
  out.word("kind", request.kind);
  if (!request.reservation.empty()) write_subjects(out, "reservation", request.reservation);
  if (request.deadline) out.number("deadlineSeconds", to_seconds(*request.deadline));
  out.end_object();
  return out.take();
}

Result<OperationRequest> parse_operation_request(std::string_view json) {
  return read_text(json, read_operation_request);
}

std::string to_json(const AcknowledgeRequest& request) {
  JsonWriter out;
  out.begin_object();
  out.word("reason", request.reason);
  out.end_object();
  return out.take();
}

Result<AcknowledgeRequest> parse_acknowledge_request(std::string_view json) {
  auto request = TRY(read_text(json, read_acknowledge_request));
  if (trim(request.reason).empty())
    return fail(Errc::malformed, "reason: missing; give a reason in a few words");
  if (request.reason.size() > Acknowledgement::kMaxReasonBytes)
    return fail(Errc::malformed, "reason: expected at most " +
                                     std::to_string(Acknowledgement::kMaxReasonBytes) + " bytes, not " +
                                     std::to_string(request.reason.size()));
  return request;
}

std::string to_json(const InjectRequest& request) {
  JsonWriter out;
  out.begin_object();
  out.word("fault", request.fault);
  write_subject(out, "subject", request.subject);
  if (request.magnitude) out.number("magnitude", *request.magnitude);
  if (request.duration) out.number("durationSeconds", to_seconds(*request.duration));
  out.end_object();
  return out.take();
}

Result<InjectRequest> parse_inject_request(std::string_view json) {
  return read_text(json, read_inject_request);
}

std::string to_json(const Receipt& receipt) {
  JsonWriter out;
  out.begin_object();
  out.word("id", receipt.id);
  out.flag("durable", receipt.durable);
  out.end_object();
  return out.take();
}

Result<Receipt> parse_receipt(std::string_view json) {
  return read_text(json, read_receipt);
}

}  // namespace autopilot::api
