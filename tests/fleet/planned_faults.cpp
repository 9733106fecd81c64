// SPDX-License-Identifier: Apache-2.0
#include "fleet/planned_faults.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <random>
#include <utility>

#include "core/parse.hpp"
#include "core/subject.hpp"
#include "core/value.hpp"
#include "faults/fault.hpp"

namespace autopilot::fleet {
namespace {

constexpr std::array<std::string_view, 6> kKeys{"node", "fault", "subject", "magnitude", "at", "for"};
constexpr std::array<std::string_view, 3> kEvicting{"row_remap_failed", "fell_off_bus", "reset_required"};
// Every built-in machine with GPUs has these.
constexpr std::uint64_t kGpus = 4;
constexpr Duration kStep = std::chrono::milliseconds{100};

using Words = std::map<std::string_view, std::string_view>;

Result<Words> parse_words(std::string_view text) {
  Words words;
  for (const std::string_view part : split(text, ',')) {
    const auto sign = part.find('=');
    const std::string_view key = part.substr(0, sign);
    if (sign == std::string_view::npos || std::ranges::find(kKeys, key) == kKeys.end())
      return fail(Errc::malformed, "expected node=, fault=, subject=, magnitude=, at= or for=, not '" +
                                       std::string(part) + "'");
    if (!words.emplace(key, part.substr(sign + 1)).second)
      return fail(Errc::malformed, std::string(key) + "= stands there twice");
  }
  for (const std::string_view key : {"node", "fault"})
    if (words[key].empty()) return fail(Errc::malformed, std::string(key) + "= is missing");
  return words;
}

Result<Duration> duration_of(std::string_view key, std::string_view text) {
  if (const auto duration = parse_duration(text)) return *duration;
  return fail(Errc::malformed,
              std::string(key) + "=: expected a duration such as 30s, not '" + std::string(text) + "'");
}

Result<Subject> subject_of(std::string_view text) {
  if (auto subject = parse_subject(text)) return *std::move(subject);
  return fail(Errc::malformed, "subject=: expected kind/key such as gpu/2");
}

Result<double> magnitude_of(std::string_view text) {
  if (const auto magnitude = parse_number<double>(text)) return *magnitude;
  return fail(Errc::malformed, "magnitude=: expected a number");
}

Status set(PlannedFault& fault, std::string_view key, std::string_view value) {
  if (key == "node")
    fault.node = value;
  else if (key == "fault")
    fault.request.fault = value;
  else if (key == "at")
    fault.at = TRY(duration_of(key, value));
  else if (key == "for")
    fault.request.duration = TRY(duration_of(key, value));
  else if (key == "subject")
    fault.request.subject = TRY(subject_of(value));
  else
    fault.request.magnitude = TRY(magnitude_of(value));
  return {};
}

}  // namespace

Result<PlannedFault> parse_planned_fault(std::string_view text) {
  const Words words = TRY(parse_words(text));
  PlannedFault fault;
  for (const auto& [key, value] : words)
    TRY_STATUS(set(fault, key, value));
  if (simulator::find_fault_type(fault.request.fault) == nullptr)
    return fail(Errc::malformed,
                "fault=: there is no '" + fault.request.fault + "'; `autopilot-sim faults` lists them");
  return fault;
}

std::vector<PlannedFault> draw_faults(std::vector<std::string> nodes, std::size_t count, std::uint64_t seed,
                                      Duration within) {
  std::mt19937_64 random(seed);
  std::vector<PlannedFault> faults;
  for (std::size_t drawn = 0; drawn < std::min(count, nodes.size()); ++drawn) {
    std::swap(nodes[drawn], nodes[drawn + random() % (nodes.size() - drawn)]);
    PlannedFault fault;
    fault.node = nodes[drawn];
    fault.request.fault = kEvicting.at(random() % kEvicting.size());
    fault.request.subject = {.kind = SubjectKind::gpu, .key = std::to_string(random() % kGpus)};
    const auto moments = static_cast<std::uint64_t>(std::max<std::int64_t>(1, within / kStep));
    fault.at = kStep * static_cast<std::int64_t>(random() % moments);
    faults.push_back(std::move(fault));
  }
  return faults;
}

std::string to_string(const PlannedFault& fault) {
  const api::InjectRequest& request = fault.request;
  std::string text = fault.node + ": " + request.fault;
  if (request.subject != host_subject()) text += " " + to_string(request.subject);
  if (request.magnitude) text += " " + autopilot::to_string(Value{*request.magnitude});
  text += ", at " + format_duration(fault.at);
  if (request.duration) text += " for " + format_duration(*request.duration);
  return text;
}

}  // namespace autopilot::fleet
