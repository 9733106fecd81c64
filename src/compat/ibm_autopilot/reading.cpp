// SPDX-License-Identifier: Apache-2.0

#include "compat/ibm_autopilot/reading.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "compat/ibm_autopilot/status_request.hpp"

namespace autopilot::compat::ibm_autopilot {

const CheckResult* find_result(const NodeSnapshot& snapshot, std::string_view check) {
  const auto found = std::ranges::find(snapshot.results, check, &CheckResult::check);
  return found == snapshot.results.end() ? nullptr : &*found;
}

std::string device_id(const Subject& gpu) {
  return gpu.index ? std::to_string(*gpu.index) : gpu.key;
}

std::string word_of(const Observation& observation) {
  return observation.value ? to_string(*observation.value) : "";
}

namespace {

Subject numbered(const NodeSnapshot& snapshot, Subject gpu) {
  const CheckResult* present = gpu.index ? nullptr : find_result(snapshot, "gpu.present");
  if (present == nullptr) return gpu;
  const auto& all = present->observations.all();
  const auto known = std::ranges::find_if(
      all, [&gpu](const Observation& one) { return one.subject == gpu && one.subject.index; });
  if (known != all.end()) gpu.index = known->subject.index;
  return gpu;
}

bool is_fault(const Finding& finding) {
  return finding.health == Health::degraded || finding.health == Health::failed;
}

bool is_true(const Observation& observation) {
  return observation.value && as_number(*observation.value).value_or(0) != 0;
}

}  // namespace

std::set<std::string> words(const NodeSnapshot& snapshot, std::string_view check, std::string_view name) {
  std::set<std::string> said;
  if (const CheckResult* result = find_result(snapshot, check))
    for (const Observation& observation : result->observations)
      if (observation.name == name && observation.value) said.insert(word_of(observation));
  return said;
}

std::vector<GpuReading> of_gpus(const NodeSnapshot& snapshot, std::string_view check, std::string_view name) {
  std::vector<GpuReading> found;
  if (const CheckResult* result = find_result(snapshot, check))
    for (const Observation& observation : result->observations)
      if (observation.name == name && observation.subject.kind == SubjectKind::gpu)
        found.push_back({numbered(snapshot, observation.subject), &observation});
  std::ranges::sort(found, is_before, &GpuReading::gpu);
  return found;
}

std::vector<Subject> gpus_of(const NodeSnapshot& snapshot, std::string_view check) {
  std::vector<Subject> gpus;
  if (const CheckResult* result = find_result(snapshot, check))
    for (const Observation& observation : result->observations)
      if (observation.subject.kind == SubjectKind::gpu &&
          std::ranges::find(gpus, observation.subject) == gpus.end())
        gpus.push_back(numbered(snapshot, observation.subject));
  std::ranges::sort(gpus, is_before);
  return gpus;
}

bool has_measured(const CheckResult& result) {
  const auto& all = result.observations.all();
  return std::ranges::any_of(all, [](const Observation& one) {
    return one.subject.kind == SubjectKind::gpu && one.value && as_number(*one.value);
  });
}

bool has_fault(const CheckResult& result) {
  return std::ranges::any_of(result.findings, is_fault);
}

bool has_unread(const CheckResult& result) {
  return std::ranges::any_of(result.findings,
                             [](const Finding& finding) { return finding.health == Health::unknown; });
}

bool is_before(const Subject& gpu, const Subject& other) {
  constexpr int kLast = std::numeric_limits<int>::max();
  return std::tuple(gpu.index.value_or(kLast), std::string_view(gpu.key)) <
         std::tuple(other.index.value_or(kLast), std::string_view(other.key));
}

std::optional<WallTime> end_of_test(const CheckResult& result) {
  std::optional<WallTime> end;
  for (const Observation& observation : result.observations)
    for (const std::string_view name : {"finished", "testedAt"})
      if (const Value* said = find_attribute(observation.attributes, name))
        end = std::max(end, parse_time(to_string(*said)));
  return end;
}

const GpuQuestion& remapped_question() {
  static const GpuQuestion question{"gpu.row_remap", {"row_remap.pending", "row_remap.failed"}, true};
  return question;
}

const GpuQuestion& slowdown_question() {
  static const GpuQuestion question{"gpu.throttle", {"clocks.hw_slowdown"}};
  return question;
}

std::map<Subject, bool> flags(const NodeSnapshot& snapshot, const GpuQuestion& question) {
  std::map<Subject, bool> said;
  std::set<Subject> unread;
  const CheckResult* result = find_result(snapshot, question.check);
  if (result == nullptr) return said;
  for (const Observation& observation : result->observations) {
    if (observation.subject.kind != SubjectKind::gpu ||
        std::ranges::find(question.readings, observation.name.text()) == question.readings.end())
      continue;
    if (observation.value)
      said[observation.subject] |= is_true(observation);
    else
      unread.insert(observation.subject);
  }
  std::erase_if(said, [&unread](const auto& one) { return !one.second && unread.contains(one.first); });
  for (const Finding& finding : result->findings)
    if (question.counts_findings && finding.subject.kind == SubjectKind::gpu && is_fault(finding))
      said[finding.subject] = true;
  return said;
}

std::string message_of(const CheckResult& result, Health health) {
  const auto found = std::ranges::find(result.findings, health, &Finding::health);
  return found == result.findings.end() ? "" : found->message;
}

std::string two_digits(double number) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.2f", number);
  return text.data();
}

std::string on_one_line(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char letter) { return letter < ' '; }, ' ');
  return without_tags(text);
}

std::string abort_line(const NodeSnapshot& snapshot, const CheckResult& result) {
  std::string why = message_of(result, Health::unknown);
  if (const CheckResult* present = find_result(snapshot, "gpu.present"); why.empty() && present != nullptr)
    why = message_of(*present, Health::failed);
  if (why.empty()) why = message_of(result, Health::unsupported);
  if (why.empty()) why = "the check has not run yet";
  return "!! " + on_one_line(why) + ". ABORT.\n";
}

namespace {

using Gpus = std::map<Subject, std::optional<bool>>;

// Adds the GPUs that have findings of that health.
void add_named(const CheckResult& result, Health health, Gpus& gpus) {
  for (const Finding& finding : result.findings)
    if (finding.subject.kind == SubjectKind::gpu && finding.health == health)
      gpus.try_emplace(finding.subject);
}

// The GPUs of the question, before any value is read.
Gpus asked_gpus(const NodeSnapshot& snapshot, const CheckResult& result, const GpuQuestion& question) {
  Gpus gpus;
  for (const Observation& observation : result.observations)
    if (observation.subject.kind == SubjectKind::gpu &&
        std::ranges::find(question.readings, observation.name.text()) != question.readings.end())
      gpus.try_emplace(observation.subject);
  add_named(result, Health::unknown, gpus);
  if (const CheckResult* present = find_result(snapshot, "gpu.present"))
    add_named(*present, Health::failed, gpus);
  return gpus;
}

}  // namespace

GpuFlags::GpuFlags(const NodeSnapshot& snapshot, const GpuQuestion& question) {
  const CheckResult* result = find_result(snapshot, question.check);
  if (result == nullptr) return;
  auto gpus = asked_gpus(snapshot, *result, question);
  for (const auto& [gpu, is_bad] : flags(snapshot, question))
    gpus[gpu] = is_bad;
  for (const auto& [gpu, is_bad] : gpus)
    flags_.push_back({gpu, is_bad});
  std::ranges::sort(flags_, is_before, &GpuFlag::gpu);
}

bool GpuFlags::any_bad() const {
  return std::ranges::any_of(flags_, [](const GpuFlag& flag) { return flag.is_bad.value_or(false); });
}

bool GpuFlags::any_unread() const {
  return std::ranges::any_of(flags_, [](const GpuFlag& flag) { return !flag.is_bad; });
}

std::string GpuFlags::gpus() const {
  std::string text;
  for (const GpuFlag& flag : flags_)
    text.append(device_id(flag.gpu)).append(" ");
  return text + "Total: " + std::to_string(flags_.size());
}

std::string GpuFlags::values() const {
  std::string text;
  for (const GpuFlag& flag : flags_) {
    if (!text.empty()) text += ' ';
    text += flag.is_bad ? (*flag.is_bad ? "1" : "0") : "nan";
  }
  return text;
}

}  // namespace autopilot::compat::ibm_autopilot
