// SPDX-License-Identifier: Apache-2.0
#include "store/row_text.hpp"

#include <boost/json.hpp>
#include <cmath>

#include "core/gpu_user.hpp"
#include "store/journal.hpp"

namespace autopilot::store {
namespace {

namespace json = boost::json;

std::string_view cut(std::string_view text) {
  return text.substr(0, Journal::kMaxTextBytes);
}

void put(json::object& object, std::string_view name, std::string_view text) {
  if (!text.empty()) object[name] = cut(text);
  if (text.size() > Journal::kMaxTextBytes) object["cut"] = true;
}

void put(json::object& object, std::string_view name, WallTime time) {
  object[name] = time.time_since_epoch().count();
}

void put(json::object& object, std::string_view name, const std::optional<WallTime>& time) {
  if (time) put(object, name, *time);
}

void put(json::object& object, std::string_view name, double number) {
  if (std::isfinite(number)) object[name] = number;
}

void put_flag(json::object& object, std::string_view name, bool flag) {
  if (flag) object[name] = true;
}

json::value json_of(const Value& value) {
  struct Visitor {
    json::value operator()(std::int64_t number) const { return number; }
    json::value operator()(bool flag) const { return flag; }
    json::value operator()(const std::string& text) const { return json::string(cut(text)); }
    json::value operator()(double number) const {
      if (std::isfinite(number)) return number;
      // JSON has no literal for these numbers.
      return json::object{{"number", std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf"}};
    }
  };
  return std::visit(Visitor{}, value);
}

void put(json::object& object, std::string_view name, const Attributes& attributes) {
  if (attributes.empty()) return;
  json::array pairs;
  for (const auto& [word, value] : attributes) {
    if (pairs.size() == Journal::kMaxListItems) {
      object["cut"] = true;
      break;
    }
    pairs.push_back(json::array{cut(word), json_of(value)});
  }
  object[name] = std::move(pairs);
}

void put(json::object& object, std::string_view name, const Subject& subject) {
  json::object inner;
  inner["kind"] = to_string(subject.kind);
  put(inner, "key", subject.key);
  if (subject.index) inner["index"] = *subject.index;
  put(inner, "uuid", subject.uuid);
  put(inner, "serial", subject.serial);
  object[name] = std::move(inner);
}

// Writes at most `limit` items.
template <class Items, class ToJson>
void put_list(json::object& object, std::string_view name, const Items& items, std::size_t limit,
              ToJson&& to_json) {
  if (items.empty()) return;
  json::array list;
  for (const auto& item : items) {
    if (list.size() == limit) {
      object["cut"] = true;
      break;
    }
    list.push_back(to_json(item));
  }
  object[name] = std::move(list);
}

json::object json_of(const Observation& observation) {
  json::object object;
  put(object, "name", observation.name);
  put(object, "subject", observation.subject);
  if (observation.value) object["value"] = json_of(*observation.value);
  put(object, "unit", observation.unit);
  put(object, "source", observation.source);
  put(object, "time", observation.time.wall);
  object["mono"] = observation.time.mono.time_since_epoch().count();
  put(object, "missing", observation.missing);
  if (observation.sequence) object["sequence"] = *observation.sequence;
  put(object, "attributes", observation.attributes);
  return object;
}

json::object json_of(const Finding& finding) {
  json::object object;
  put(object, "subject", finding.subject);
  object["health"] = to_string(finding.health);
  put(object, "reason", finding.reason);
  put(object, "message", finding.message);
  put(object, "evidence", finding.evidence);
  object["action"] = to_string(finding.action);
  put(object, "since", finding.since);
  put(object, "lastSeen", finding.last_seen);
  put(object, "clearsWhen", finding.clears_when);
  put_flag(object, "injected", finding.injected);
  put_flag(object, "held", finding.held);
  return object;
}

}  // namespace

std::string to_text(const Event& event) {
  json::object object;
  put(object, "time", event.time);
  put(object, "boot", event.boot_id);
  object["kind"] = to_string(event.kind);
  put(object, "check", event.check);
  put(object, "subject", event.subject);
  object["health"] = to_string(event.health);
  put(object, "reason", event.reason);
  put(object, "message", event.message);
  put(object, "details", event.details);
  put_flag(object, "injected", event.injected);
  put_flag(object, "simulated", event.simulated);
  return json::serialize(object);
}

std::string to_text(const Incident& incident) {
  json::object object;
  put(object, "id", incident.id);
  object["state"] = to_string(incident.state);
  put(object, "check", incident.check);
  put(object, "reason", incident.reason);
  put(object, "cause", incident.cause);
  if (incident.end) object["end"] = to_string(*incident.end);
  put(object, "because", incident.because);
  put(object, "blamed", incident.blamed);
  object["health"] = to_string(incident.health);
  object["action"] = to_string(incident.action);
  put(object, "confidence", incident.confidence);
  put(object, "summary", incident.summary);
  put(object, "opened", incident.opened);
  put(object, "updated", incident.updated);
  put(object, "closed", incident.closed);
  put(object, "closedBy", incident.closed_by);
  if (incident.acknowledged) {
    put(object, "acknowledgedBy", incident.acknowledged->by);
    put(object, "acknowledgedAt", incident.acknowledged->at);
    put(object, "acknowledgeReason", incident.acknowledged->reason);
  }
  put_flag(object, "injected", incident.injected);
  if (incident.further > 0) object["further"] = incident.further;
  put_list(object, "members", incident.members, Journal::kMaxListItems, [](const IncidentMember& member) {
    json::object inner;
    put(inner, "check", member.check);
    inner["finding"] = json_of(member.finding);
    put_flag(inner, "sympathetic", member.sympathetic);
    put(inner, "cleared", member.cleared);
    return inner;
  });
  put_list(object, "workloads", incident.gpu_users, Journal::kMaxListItems, [](const GpuUser& gpu_user) {
    json::object inner;
    inner["pid"] = gpu_user.pid;
    inner["startedTicks"] = gpu_user.started_ticks;
    put(inner, "process", gpu_user.process);
    for (const GpuUserField& field : kGpuUserFields)
      put(inner, field.name, gpu_user.owner.*field.member);
    put(inner, "firstSeen", gpu_user.first_seen);
    put(inner, "lastSeen", gpu_user.last_seen);
    return inner;
  });
  return json::serialize(object);
}

std::string to_text(const Operation& operation) {
  json::object object;
  put(object, "id", operation.id);
  put(object, "kind", operation.kind);
  put(object, "owner", operation.owner);
  object["state"] = to_string(operation.state);
  put_list(object, "reservation", operation.reservation, Journal::kMaxListItems, [](const Subject& subject) {
    json::object inner;
    put(inner, "subject", subject);
    return inner;
  });
  put(object, "progress", operation.progress);
  put(object, "message", operation.message);
  put(object, "created", operation.created);
  put(object, "started", operation.started);
  put(object, "finished", operation.finished);
  object["deadline"] = operation.deadline.count();
  put_list(object, "observations", operation.observations, Journal::kMaxObservations,
           [](const Observation& observation) { return json_of(observation); });
  return json::serialize(object);
}

std::string to_text(const Observation& observation) {
  return json::serialize(json_of(observation));
}

std::string to_text(const Finding& finding) {
  return json::serialize(json_of(finding));
}

}  // namespace autopilot::store
