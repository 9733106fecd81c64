// SPDX-License-Identifier: Apache-2.0
#include <boost/json.hpp>
#include <limits>
#include <type_traits>

#include "core/gpu_user.hpp"
#include "store/row_text.hpp"

namespace autopilot::store {
namespace {

namespace json = boost::json;

// Reads members of one object and keeps the first error.
class Members {
 public:
  Members(const json::object& object, std::string& problem) : object_(object), problem_(problem) {}

  void read(std::string_view name, std::string& into) const {
    if (const auto* value = find(name)) {
      if (const auto* text = value->if_string()) {
        into.assign(text->data(), text->size());
      } else {
        complain(name);
      }
    }
  }
  template <class Number>
    requires std::is_arithmetic_v<Number>
  void read(std::string_view name, Number& into) const {
    if (const auto* value = find(name)) {
      json::error_code error;
      const auto number = value->is_number() ? value->to_number<Number>(error) : Number{};
      if (!value->is_number() || error) return complain(name);
      into = number;
    }
  }
  void read(std::string_view name, Interned& into) const {
    std::string text;
    read(name, text);
    into = text;
  }
  void read(std::string_view name, bool& into) const {
    if (const auto* value = find(name)) {
      if (!value->is_bool()) return complain(name);
      into = value->get_bool();
    }
  }
  void read(std::string_view name, Duration& into) const {
    std::int64_t count = into.count();
    read(name, count);
    into = Duration{count};
  }
  template <class Clock>
  void read(std::string_view name, std::chrono::time_point<Clock, Duration>& into) const {
    Duration since = into.time_since_epoch();
    read(name, since);
    into = std::chrono::time_point<Clock, Duration>{since};
  }
  template <class T>
  void read(std::string_view name, std::optional<T>& into) const {
    if (find(name) == nullptr) return;
    T value{};
    read(name, value);
    into = std::move(value);
  }
  void read(std::string_view name, Value& into) const {
    if (const auto* value = find(name)) {
      if (auto parsed = parse_value(*value)) {
        into = std::move(*parsed);
      } else {
        complain(name);
      }
    }
  }
  void read(std::string_view name, Subject& into) const {
    read_object(name, [&into](const Members& members) {
      members.read_word("kind", into.kind, parse_subject_kind);
      members.read("key", into.key);
      members.read("index", into.index);
      members.read("uuid", into.uuid);
      members.read("serial", into.serial);
    });
  }
  void read(std::string_view name, Attributes& into) const {
    const auto* value = find(name);
    if (value == nullptr) return;
    if (!value->is_array()) return complain(name);
    for (const auto& entry : value->get_array()) {
      const auto* pair = entry.if_array();
      if (pair == nullptr || pair->size() != 2 || !pair->front().is_string()) return complain(name);
      auto parsed = parse_value(pair->back());
      if (!parsed) return complain(name);
      const auto& word = pair->front().get_string();
      into.emplace_back(std::string(word.data(), word.size()), std::move(*parsed));
    }
  }
  template <class Enum>
  void read_word(std::string_view name, std::optional<Enum>& into,
                 std::optional<Enum> (*parse)(std::string_view)) const {
    if (find(name) != nullptr) read_word(name, into.emplace(), parse);
  }
  template <class Enum>
  void read_word(std::string_view name, Enum& into, std::optional<Enum> (*parse)(std::string_view)) const {
    if (find(name) == nullptr) return;
    std::string word;
    read(name, word);
    if (const auto parsed = parse(word)) {
      into = *parsed;
    } else {
      complain(name);
    }
  }
  template <class Read>
  void read_object(std::string_view name, Read&& read_members) const {
    if (const auto* value = find(name)) {
      if (!value->is_object()) return complain(name);
      read_members(Members(value->get_object(), problem_));
    }
  }
  template <class Read>
  void read_list(std::string_view name, Read&& read_members) const {
    const auto* value = find(name);
    if (value == nullptr) return;
    if (!value->is_array()) return complain(name);
    for (const auto& entry : value->get_array()) {
      if (!entry.is_object()) return complain(name);
      read_members(Members(entry.get_object(), problem_));
    }
  }

 private:
  [[nodiscard]] const json::value* find(std::string_view name) const { return object_.if_contains(name); }
  void complain(std::string_view name) const {
    if (problem_.empty()) problem_ = name;
  }
  static std::optional<Value> parse_value(const json::value& value) {
    if (const auto* number = value.if_int64()) return Value{*number};
    if (const auto* number = value.if_double()) return Value{*number};
    if (const auto* flag = value.if_bool()) return Value{*flag};
    if (const auto* text = value.if_string()) return Value{std::string(text->data(), text->size())};
    const auto* object = value.if_object();
    const auto* word = object == nullptr ? nullptr : object->if_contains("number");
    if (word == nullptr || !word->is_string()) return std::nullopt;
    const auto& name = word->get_string();
    if (name == "nan") return Value{std::numeric_limits<double>::quiet_NaN()};
    if (name == "inf") return Value{std::numeric_limits<double>::infinity()};
    if (name == "-inf") return Value{-std::numeric_limits<double>::infinity()};
    return std::nullopt;
  }

  const json::object& object_;
  std::string& problem_;
};

void read(const Members& members, Observation& observation) {
  members.read("name", observation.name);
  members.read("subject", observation.subject);
  members.read("value", observation.value);
  members.read("unit", observation.unit);
  members.read("source", observation.source);
  members.read("time", observation.time.wall);
  members.read("mono", observation.time.mono);
  members.read("missing", observation.missing);
  members.read("sequence", observation.sequence);
  members.read("attributes", observation.attributes);
}

void read(const Members& members, Finding& finding) {
  members.read("subject", finding.subject);
  members.read_word("health", finding.health, parse_health);
  members.read("reason", finding.reason);
  members.read("message", finding.message);
  members.read("evidence", finding.evidence);
  members.read_word("action", finding.action, parse_action);
  members.read("since", finding.since);
  members.read("lastSeen", finding.last_seen);
  members.read("clearsWhen", finding.clears_when);
  members.read("injected", finding.injected);
  members.read("held", finding.held);
}

void read(const Members& members, Event& event) {
  members.read("time", event.time);
  members.read("boot", event.boot_id);
  members.read_word("kind", event.kind, parse_event_kind);
  members.read("check", event.check);
  members.read("subject", event.subject);
  members.read_word("health", event.health, parse_health);
  members.read("reason", event.reason);
  members.read("message", event.message);
  members.read("details", event.details);
  members.read("injected", event.injected);
  members.read("simulated", event.simulated);
}

void read(const Members& members, Incident& incident) {
  members.read("id", incident.id);
  members.read_word("state", incident.state, parse_incident_state);
  members.read("check", incident.check);
  members.read("reason", incident.reason);
  members.read("cause", incident.cause);
  members.read_word("end", incident.end, parse_fault_end);
  members.read("because", incident.because);
  members.read("blamed", incident.blamed);
  members.read_word("health", incident.health, parse_health);
  members.read_word("action", incident.action, parse_action);
  members.read("confidence", incident.confidence);
  members.read("summary", incident.summary);
  members.read("opened", incident.opened);
  members.read("updated", incident.updated);
  members.read("closed", incident.closed);
  members.read("closedBy", incident.closed_by);
  std::optional<WallTime> acknowledged_at;
  members.read("acknowledgedAt", acknowledged_at);
  if (acknowledged_at) {
    auto& acknowledged = incident.acknowledged.emplace();
    acknowledged.at = *acknowledged_at;
    members.read("acknowledgedBy", acknowledged.by);
    members.read("acknowledgeReason", acknowledged.reason);
  }
  members.read("injected", incident.injected);
  members.read("further", incident.further);
  members.read_list("members", [&incident](const Members& inner) {
    auto& member = incident.members.emplace_back();
    inner.read("check", member.check);
    inner.read_object("finding", [&member](const Members& finding) { read(finding, member.finding); });
    inner.read("sympathetic", member.sympathetic);
    inner.read("cleared", member.cleared);
  });
  members.read_list("workloads", [&incident](const Members& inner) {
    auto& gpu_user = incident.gpu_users.emplace_back();
    inner.read("pid", gpu_user.pid);
    inner.read("startedTicks", gpu_user.started_ticks);
    inner.read("process", gpu_user.process);
    for (const GpuUserField& field : kGpuUserFields)
      inner.read(field.name, gpu_user.owner.*field.member);
    inner.read("firstSeen", gpu_user.first_seen);
    inner.read("lastSeen", gpu_user.last_seen);
  });
}

void read(const Members& members, Operation& operation) {
  members.read("id", operation.id);
  members.read("kind", operation.kind);
  members.read("owner", operation.owner);
  members.read_word("state", operation.state, parse_operation_state);
  members.read_list("reservation", [&operation](const Members& inner) {
    inner.read("subject", operation.reservation.emplace_back());
  });
  members.read("progress", operation.progress);
  members.read("message", operation.message);
  members.read("created", operation.created);
  members.read("started", operation.started);
  members.read("finished", operation.finished);
  members.read("deadline", operation.deadline);
  members.read_list("observations", [&operation](const Members& inner) {
    read(inner, operation.observations.emplace_back());
  });
}

template <class T>
Result<T> parse_row(std::string_view text) {
  json::error_code error;
  json::parse_options options;
  options.allow_invalid_utf8 = true;
  const auto value = json::parse(json::string_view(text.data(), text.size()), error, {}, options);
  if (error) return fail(Errc::malformed, "journal row: " + error.message());
  if (!value.is_object()) return fail(Errc::malformed, "journal row: not an object");
  T result;
  std::string problem;
  read(Members(value.get_object(), problem), result);
  if (!problem.empty()) return fail(Errc::malformed, "journal row: " + problem);
  return result;
}

}  // namespace

Result<Event> parse_event(std::string_view text) {
  return parse_row<Event>(text);
}
Result<Incident> parse_incident(std::string_view text) {
  return parse_row<Incident>(text);
}
Result<Operation> parse_operation(std::string_view text) {
  return parse_row<Operation>(text);
}
Result<Observation> parse_observation(std::string_view text) {
  return parse_row<Observation>(text);
}
Result<Finding> parse_finding(std::string_view text) {
  return parse_row<Finding>(text);
}

}  // namespace autopilot::store
