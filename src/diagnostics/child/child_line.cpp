// SPDX-License-Identifier: Apache-2.0

#include "diagnostics/child/child_line.hpp"

#include <boost/json.hpp>
#include <cmath>
#include <condition_variable>
#include <csignal>
#include <iostream>
#include <mutex>
#include <optional>
#include <unistd.h>
#include <utility>

#include "core/parse.hpp"

namespace autopilot::diagnostics {

namespace {

namespace json = boost::json;

constexpr std::size_t kMaxWord = 128;

tl::unexpected<Error> refuse(std::string what) {
  return fail(Errc::malformed, "line of an operation: " + std::move(what));
}

// The text of an optional member; empty when absent or null.
Result<std::string> line_text(const json::object& object, std::string_view name) {
  const json::value* const member = object.if_contains(name);
  if (member == nullptr || member->is_null()) return std::string();
  const json::string* const text = member->if_string();
  if (text == nullptr) return refuse("`" + std::string(name) + "` is not a string");
  return std::string(*text);
}

std::optional<Value> value_of(const json::value& value, std::size_t longest = kMaxWord) {
  if (const auto* number = value.if_int64()) return Value(*number);
  if (const auto* number = value.if_uint64()) return Value(static_cast<double>(*number));
  if (const auto* number = value.if_double(); number != nullptr && std::isfinite(*number))
    return Value(*number);
  if (const auto* flag = value.if_bool()) return Value(*flag);
  if (const auto* word = value.if_string(); word != nullptr && word->size() <= longest)
    return Value(std::string(*word));
  return std::nullopt;
}

Result<Attributes> attributes_of(const json::object& object, const std::string& name) {
  Attributes attributes;
  const json::value* const member = object.if_contains("attributes");
  if (member == nullptr) return attributes;
  const json::object* const items = member->if_object();
  if (items == nullptr || items->size() > kMaxChildAttributes)
    return refuse("the attributes of " + name + " are not an object, or too many");
  for (const auto& [key, item] : *items) {
    auto value = value_of(item, kMaxChildMessage);
    if (key.empty() || key.size() > kMaxWord || !value) return refuse(name + " has an unusable attribute");
    attributes.emplace_back(std::string(key), *std::move(value));
  }
  return attributes;
}

Result<Observation> observation_of(const json::value& item) {
  const json::object* const object = item.if_object();
  if (object == nullptr) return refuse("an observation is not an object");
  Observation observation;
  observation.name = TRY(line_text(*object, "name"));
  if (observation.name.empty() || observation.name.size() > kMaxWord)
    return refuse("an observation has no name, or a very long one");
  observation.unit = TRY(line_text(*object, "unit"));
  observation.missing = TRY(line_text(*object, "missing"));
  if (observation.unit.size() > kMaxWord || observation.missing.size() > kMaxWord)
    return refuse(observation.name + " has a very long word");
  const auto subject = parse_subject(TRY(line_text(*object, "subject")));
  if (!subject) return refuse(observation.name + " has no subject");
  observation.subject = *subject;
  const json::value* const value = object->if_contains("value");
  if (value != nullptr && !value->is_null()) {
    observation.value = value_of(*value);
    if (!observation.value)
      return refuse(observation.name +
                    " has an invalid value: expected a number, true, false or a short string");
  } else if (observation.missing.empty()) {
    return refuse(observation.name + " has neither a value nor a reason in `missing`");
  }
  observation.attributes = TRY(attributes_of(*object, observation.name));
  return observation;
}

Result<ChildLine> observations_of(const json::value& list) {
  const json::array* const items = list.if_array();
  if (items == nullptr) return refuse("`observations` is not an array");
  if (items->size() > kMaxChildObservations) return refuse("too many observations");
  Observations observations;
  for (const json::value& item : *items)
    observations.push_back(TRY(observation_of(item)));
  return observations;
}

Result<ChildLine> progress_of(const json::object& object) {
  const json::value* const member = object.if_contains("progress");
  if (member == nullptr) return refuse("neither progress nor observations");
  const auto value = value_of(*member);
  const auto* const flag = value ? std::get_if<bool>(&*value) : nullptr;
  const auto number = value && flag == nullptr ? as_number(*value) : std::nullopt;
  if (!number || *number < 0 || *number > 1) return refuse("`progress` is not a number from 0 to 1");
  auto message = TRY(line_text(object, "message"));
  if (message.size() > kMaxChildMessage) message = to_utf8(message.substr(0, kMaxChildMessage));
  return ChildProgress{*number, std::move(message)};
}

}  // namespace

Result<ChildLine> parse_child_line(std::string_view line) {
  json::error_code error;
  json::parse_options options;
  options.max_depth = 4;
  const json::value value = json::parse({line.data(), line.size()}, error, {}, options);
  if (error) return refuse(error.message());
  const json::object* const object = value.if_object();
  if (object == nullptr) return refuse("not an object");
  if (const json::value* const list = object->if_contains("observations")) return observations_of(*list);
  return progress_of(*object);
}

std::string to_line(const ChildProgress& progress) {
  const json::object object{{"progress", progress.progress}, {"message", to_utf8(progress.message)}};
  return json::serialize(object) + "\n";
}

namespace {

json::object to_json(const Attributes& attributes) {
  json::object items;
  for (const auto& [name, attribute] : attributes)
    std::visit([&items, &key = name](const auto& value) { items[key] = value; }, attribute);
  return items;
}

}  // namespace

std::string to_line(const Observations& observations) {
  json::array items;
  for (const Observation& observation : observations) {
    json::object item{{"name", observation.name.text()}, {"subject", to_string(observation.subject)}};
    if (observation.value)
      std::visit([&item](const auto& value) { item["value"] = value; }, *observation.value);
    else
      item["missing"] = observation.missing.text();
    if (!observation.unit.empty()) item["unit"] = observation.unit.text();
    if (!observation.attributes.empty()) item["attributes"] = to_json(observation.attributes);
    items.push_back(std::move(item));
  }
  return json::serialize(json::object{{"observations", std::move(items)}}) + "\n";
}

namespace {

constexpr Duration kTellerPeriod = std::chrono::seconds{1};

void tell_line(const std::string& line) {
  std::cout << line << std::flush;
  if (!std::cout.good()) ::kill(0, SIGKILL);
}

}  // namespace

void lead_group_of_test() {
  std::signal(SIGTERM, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  static_cast<void>(::setpgid(0, 0));
}

void tell(const ChildProgress& progress) {
  tell_line(to_line(progress));
}

void tell(const Observations& observations) {
  tell_line(to_line(observations));
}

std::jthread begin_telling(const std::string& what) {
  return std::jthread([what](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any woken;
    std::unique_lock lock(mutex);
    do
      tell(ChildProgress{0, what});
    while (!woken.wait_for(lock, stop, kTellerPeriod, [&stop] { return stop.stop_requested(); }));
  });
}

}  // namespace autopilot::diagnostics
