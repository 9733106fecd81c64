// SPDX-License-Identifier: Apache-2.0
#include "checks/gpu/measured.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "checks/gpu/gpu_check.hpp"
#include "core/attribute_text.hpp"

namespace autopilot::checks {
namespace {

// " (multiprocessor 3: bits 0x4)"; empty where the test tells neither.
std::string place_of(const Observation& said) {
  const std::string where = attribute_text(said, "where");
  const std::string detail = attribute_text(said, "detail");
  if (where.empty() && detail.empty()) return "";
  return " (" + where + (where.empty() || detail.empty() ? "" : ": ") + detail + ")";
}

}  // namespace

std::vector<Measured> measured(const JudgeInput& input, std::string_view name) {
  std::vector<Measured> all;
  for (const Observation& said : input.history.latest())
    if (const auto value = said.name == name && said.value ? as_number(*said.value) : std::nullopt)
      all.push_back({&said, *value});
  return all;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::optional<double> median_of_others(const Measured& one, const std::vector<Measured>& all,
                                       const std::function<bool(const Measured&)>& is_alike) {
  std::vector<double> values;
  for (const Measured& other : all)
    if (other.said != one.said && is_alike(other)) values.push_back(other.value);
  if (values.size() + 1 < kFewestAlike) return std::nullopt;
  return median(std::move(values));
}

Limit share_of(Limit share, double whole, std::string_view unit) {
  share.value *= whole;
  share.unit = unit;
  return share;
}

void add_source(Finding& finding, const Observation& said) {
  finding.evidence.emplace_back("testedAt", attribute_text(said, "testedAt"));
  finding.evidence.emplace_back("witness", said.source);
}

void add_wrong(const JudgeInput& input, std::string_view name, std::string_view reason, std::string_view what,
               Findings& findings) {
  for (const Measured& wrong : measured(input, name)) {
    if (wrong.value <= 0) continue;
    const Observation& said = *wrong.said;
    findings.push_back(make_finding(
        input, said.subject, reason, Health::degraded,
        gpu_text(said.subject) + " " + std::string(what) + ": " + rounded(wrong.value) + place_of(said)));
    Finding& finding = findings.back();
    finding.evidence = said.attributes;
    finding.evidence.emplace_back("value", wrong.value);
    finding.evidence.emplace_back("witness", said.source);
  }
}

}  // namespace autopilot::checks
