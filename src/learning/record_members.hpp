// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <variant>

#include "learning/record_words.hpp"
#include "learning/records.hpp"

// The members of each record, described once for every reader and writer. A visitor has a function for each
// kind of member: text, time, word, action, integer, number, texts, numbers, list.
namespace autopilot::learning {

enum class Need : std::uint8_t { optional, required };

inline constexpr std::size_t kLongestName = 253;   // bytes: ids, names, keys
inline constexpr std::size_t kLongestText = 4096;  // bytes: sentences and notes
inline constexpr std::size_t kMostGpus = 64;       // of a node
inline constexpr std::size_t kMostOutcomes = 256;  // checks of a validation
inline constexpr std::size_t kMostValues = 4096;   // of a measurement
inline constexpr int kMostJobGpus = 1'000'000;
inline constexpr double kLargestValue = 1e300;

template <class V>
void name(V& v, std::string_view member, std::string& text, Need need) {
  v.text(member, text, kLongestName, need);
}

template <class V>
void sentence(V& v, std::string_view member, std::string& text) {
  v.text(member, text, kLongestText, Need::optional);
}

template <class V>
void identity(V& v, std::string& id, Place& place) {
  name(v, "id", id, Need::required);
  name(v, "cluster", place.cluster, Need::optional);
  name(v, "node", place.node, Need::required);
  name(v, "gpu", place.gpu, Need::optional);
}

template <class V>
void members(V& v, NodeJob& r) {
  identity(v, r.id, r.place);
  v.time("start", r.start, Need::required);
  v.time("end", r.end, Need::optional);
  name(v, "job", r.job, Need::required);
  v.text("name", r.name, kLongestText, Need::optional);
  v.texts("gpus", r.gpus, kMostGpus, kLongestName);
  v.integer("job_gpus", r.job_gpus, 0, kMostJobGpus);
  v.word("outcome", r.outcome, words::kOutcomes, Need::optional);
  name(v, "failure", r.failure, Need::optional);
}

template <class V>
void members(V& v, CheckOutcome& r) {
  name(v, "check", r.check, Need::required);
  name(v, "gpu", r.gpu, Need::optional);
  v.word("health", r.health, words::kHealths, Need::required);
  name(v, "reason", r.reason, Need::optional);
  sentence(v, "text", r.text);
}

template <class V>
void members(V& v, Validation& r) {
  identity(v, r.id, r.place);
  v.time("start", r.start, Need::required);
  v.time("end", r.end, Need::required);
  v.word("reason", r.reason, words::kReasons, Need::required);
  v.word("depth", r.depth, words::kDepths, Need::required);
  v.word("verdict", r.verdict, words::kVerdicts, Need::required);
  name(v, "job", r.job, Need::optional);
  sentence(v, "cause", r.cause);
  v.list("checks", r.checks, kMostOutcomes);
}

template <class V>
void members(V& v, Measurement& r) {
  identity(v, r.id, r.place);
  v.time("time", r.time, Need::required);
  name(v, "kind", r.kind, Need::required);
  name(v, "check", r.check, Need::required);
  name(v, "metric", r.metric, Need::required);
  v.numbers("values", r.values, kMostValues, kLargestValue);
}

template <class V>
void members(V& v, Fault& r) {
  identity(v, r.id, r.place);
  v.time("begin", r.begin, Need::required);
  v.time("detected", r.detected, Need::optional);
  v.time("end", r.end, Need::optional);
  v.word("class", r.kind, words::kFaultClasses, Need::required);
  name(v, "check", r.check, Need::optional);
  name(v, "cause", r.cause, Need::optional);
  sentence(v, "text", r.text);
  v.word("health", r.health, words::kHealths, Need::optional);
  v.number("confidence", r.confidence, 0, 1);
  name(v, "job", r.job, Need::optional);
  name(v, "versions", r.versions, Need::optional);
  v.action("action", r.action);
  v.text("signals", r.signals, kLongestText, Need::optional);
}

template <class V>
void members(V& v, Label& r) {
  identity(v, r.id, r.place);
  v.time("time", r.time, Need::required);
  name(v, "fault", r.fault, Need::optional);
  v.word("answer", r.answer, words::kLabelAnswers, Need::required);
  v.word("source", r.source, words::kLabelSources, Need::required);
  v.text("cause", r.cause, kLongestText, Need::optional);
  name(v, "author", r.author, Need::optional);
  sentence(v, "note", r.note);
}

template <class V>
void members(V& v, Repair& r) {
  identity(v, r.id, r.place);
  v.time("begin", r.begin, Need::required);
  v.time("end", r.end, Need::optional);
  v.text("action", r.action, kLongestText, Need::required);
  name(v, "part", r.part, Need::optional);
  name(v, "ticket", r.ticket, Need::optional);
  sentence(v, "note", r.note);
}

template <class V>
void members(V& v, Versions& r) {
  identity(v, r.id, r.place);
  v.time("time", r.time, Need::required);
  name(v, "driver", r.driver, Need::optional);
  name(v, "firmware", r.firmware, Need::optional);
  name(v, "kernel", r.kernel, Need::optional);
  name(v, "image", r.image, Need::optional);
  name(v, "agent", r.agent, Need::optional);
}

// Calls f.template operator()<T>(type) for each type of record, with its word.
template <class F>
void for_each_record_type(F&& f) {
  f.template operator()<NodeJob>("job");
  f.template operator()<Validation>("validation");
  f.template operator()<Measurement>("measurement");
  f.template operator()<Fault>("fault");
  f.template operator()<Label>("label");
  f.template operator()<Repair>("repair");
  f.template operator()<Versions>("versions");
}

}  // namespace autopilot::learning
