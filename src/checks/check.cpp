// SPDX-License-Identifier: Apache-2.0
#include "checks/check.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace autopilot::checks {

Subject make_subject(SubjectKind kind, std::string key) {
  Subject subject;
  subject.kind = kind;
  subject.key = std::move(key);
  return subject;
}

Observation& ObservationBuilder::add_empty(const Subject& subject, std::string_view name,
                                           std::string_view source) {
  Observation observation;
  observation.name = name;
  observation.subject = subject;
  observation.source = source;
  observation.time = now_;
  return observations_.emplace_back(std::move(observation));
}

Observation& ObservationBuilder::add(const Subject& subject, std::string_view name, std::string_view source,
                                     Value value, std::string_view unit) {
  Observation& observation = add_empty(subject, name, source);
  observation.value = std::move(value);
  observation.unit = unit;
  return observation;
}

Observation& ObservationBuilder::add_count(const Subject& subject, std::string_view name,
                                           std::string_view source, std::uint64_t count) {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return add(subject, name, source, static_cast<std::int64_t>(std::min(count, most)), "count");
}

Observation& ObservationBuilder::add_missing(const Subject& subject, std::string_view name,
                                             std::string_view source, std::string_view why,
                                             const std::string& what) {
  Observation& observation = add_empty(subject, name, source);
  observation.missing = why;
  observation.attributes = {{"error", what}};
  return observation;
}

std::int64_t event_count(const Observation& event) {
  const Value* count = find_attribute(event.attributes, "count");
  const auto number = count == nullptr ? std::nullopt : as_number(*count);
  return number ? static_cast<std::int64_t>(*number) : 1;
}

Observation seen_reset(const Subject& gpu, Instant time) {
  Observation event;
  event.name = kSeenReset;
  event.subject = gpu;
  event.source = "observations of " + to_string(gpu);
  event.time = time;
  event.sequence = static_cast<std::uint64_t>(time.mono.time_since_epoch().count());
  return event;
}

}  // namespace autopilot::checks
