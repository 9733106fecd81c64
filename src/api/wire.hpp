// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "api/json.hpp"
#include "core/finding.hpp"
#include "core/incident.hpp"
#include "core/observation.hpp"
#include "core/subject.hpp"

// The parts of the objects of v1.hpp. Writers write members into the currently open object.
namespace autopilot::api {

void write_subject(JsonWriter& out, std::string_view name, const Subject& subject);
[[nodiscard]] Subject read_subject(const JsonObject& object);

void write_subjects(JsonWriter& out, std::string_view name, const std::vector<Subject>& subjects);

void write_observations(JsonWriter& out, const Observations& observations);
[[nodiscard]] Observation read_observation(const JsonObject& object);

void write_finding_members(JsonWriter& out, const Finding& finding);
[[nodiscard]] Finding read_finding(const JsonObject& object);

// One whole item of a list.
void write_incident(JsonWriter& out, const Incident& incident);
[[nodiscard]] Incident read_incident(const JsonObject& object);

// `{"simulated":..,"items":[..]}`; `write` writes one whole item.
template <class T>
[[nodiscard]] std::string write_items(const std::vector<T>& items, bool simulated,
                                      void (*write)(JsonWriter&, const T&)) {
  JsonWriter out;
  out.begin_object();
  out.flag("simulated", simulated);
  out.begin_list("items");
  for (const auto& item : items)
    write(out, item);
  out.end_list();
  out.end_object();
  return out.take();
}

template <class T, T (*Read)(const JsonObject&)>
[[nodiscard]] std::vector<T> read_items(const JsonObject& object) {
  return object.list("items", Read);
}

// Reads the object of a complete text.
template <class T>
[[nodiscard]] Result<T> read_text(std::string_view json, T (*read)(const JsonObject&)) {
  auto document = TRY(JsonDocument::parse(json));
  return document.read(read);
}

}  // namespace autopilot::api
