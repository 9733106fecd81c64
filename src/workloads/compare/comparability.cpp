// SPDX-License-Identifier: Apache-2.0
#include "workloads/compare/comparability.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/parse.hpp"

namespace autopilot::workloads::compare {
namespace {

constexpr double kSameMemory = 0.02;
constexpr double kKibOfGib = 1024.0 * 1024.0;

std::string stated(const std::optional<std::string>& word) {
  return word.value_or("");
}

std::string counted(const std::optional<int>& number) {
  return number ? std::to_string(*number) : "";
}

std::string gpus_of_job(const Side& side) {
  if (side.facts.gpus) return std::to_string(*side.facts.gpus);
  const std::size_t used = used_gpus_of(side).size();
  return used > 0 ? std::to_string(used) + " (measured)" : "";
}

std::string exclusivity(const Side& side) {
  if (!side.facts.is_exclusive) return "";
  return *side.facts.is_exclusive ? "the nodes for itself" : "shared nodes";
}

std::string bytes_words(const std::optional<double>& bytes) {
  return bytes ? number_text(*bytes / 1e9) + " GB" : "";
}

// "2" and "2 (measured)" are the same number.
bool is_same_word(const std::string& a, const std::string& b) {
  return to_lower(trim(a.substr(0, a.find(" (measured)")))) ==
         to_lower(trim(b.substr(0, b.find(" (measured)"))));
}

Condition condition(std::string name, std::string a, std::string b, bool is_required) {
  Condition made{std::move(name), std::move(a), std::move(b), Agreement::unknown, is_required, {}};
  if (made.a.empty() || made.b.empty()) {
    made.reason = made.name + (made.a.empty() && made.b.empty() ? " not stated for A and B"
                               : made.a.empty()                 ? " not stated for A"
                                                                : " not stated for B");
    return made;
  }
  made.agreement = is_same_word(made.a, made.b) ? Agreement::same : Agreement::different;
  if (made.agreement == Agreement::different) made.reason = made.name + ": A " + made.a + ", B " + made.b;
  return made;
}

// A side whose facts contradict its data did not run the work that it states.
Condition gpus_condition(const Side& a, const Side& b) {
  Condition made = condition("GPUs of the job", gpus_of_job(a), gpus_of_job(b), true);
  std::string reasons;
  for (const Side* side : {&a, &b}) {
    const auto stated_gpus = contradicted_gpus(*side);
    if (!stated_gpus) continue;
    const std::string used = std::to_string(used_gpus_of(*side).size());
    std::string& shown = side == &a ? made.a : made.b;
    shown = std::to_string(*stated_gpus) + " stated, " + used + " in use";
    reasons += (reasons.empty() ? "" : "; ") + side->facts.file + " of " + side->letter + " states " +
               std::to_string(*stated_gpus) + (*stated_gpus == 1 ? " GPU" : " GPUs") + ", the data shows " +
               used + " in use (mean of at least " + number_text(kUsed_percent) +
               " %); correct the facts, or leave out GPUs of other jobs";
  }
  if (reasons.empty()) return made;
  made.agreement = Agreement::different;
  made.reason = reasons;
  return made;
}

std::optional<double> memory_of(const Side& side) {
  const Series* total = main_series(side, "mem.total", "");
  return total == nullptr ? std::nullopt : std::optional(statistics_of(total->values)->median);
}

Condition memory_condition(const Side& a, const Side& b) {
  const auto of_a = memory_of(a);
  const auto of_b = memory_of(b);
  const auto words = [](const std::optional<double>& kib) {
    return kib ? number_text(*kib / kKibOfGib) + " GiB (measured)" : "";
  };
  Condition made = condition("Memory of the machine", words(of_a), words(of_b), false);
  if (of_a && of_b && std::abs(*of_a - *of_b) <= kSameMemory * std::max(*of_a, *of_b)) {
    made.agreement = Agreement::same;
    made.reason.clear();
  }
  return made;
}

// Numbers of different units do not compare; without a throughput on both sides there is no condition.
std::optional<Condition> unit_condition(const Side& a, const Side& b) {
  const auto& of_a = a.facts.throughput;
  const auto& of_b = b.facts.throughput;
  if (!of_a || !of_b) return std::nullopt;
  Condition made = condition("Unit of the throughput", of_a->unit, of_b->unit, false);
  if (made.agreement == Agreement::different) made.reason += "; state both in one unit";
  return made;
}

bool has_result(const Side& side) {
  return side.facts.throughput || side.facts.time_to_result_s || !series_of(side, "job.step_time").empty() ||
         std::any_of(side.measures.begin(), side.measures.end(), [](const Measure& measure) {
           return measure.metric.starts_with("nccl.") || measure.metric.starts_with("sysbench.") ||
                  measure.metric.starts_with("nhc.");
         });
}

// Utilisation does not count as a result: a job that waits can be busy, and a faster one can use less.
Condition result_condition(const Side& a, const Side& b) {
  const bool of_a = has_result(a);
  const bool of_b = has_result(b);
  Condition made;
  made.name = "Result of the work (throughput, time to a result, bandwidth)";
  made.a = of_a ? "measured" : "";
  made.b = of_b ? "measured" : "";
  made.agreement = of_a && of_b ? Agreement::same : of_a != of_b ? Agreement::different : Agreement::unknown;
  if (!of_a || !of_b)
    made.reason = std::string("No throughput and no time to a result for ") +
                  (!of_a && !of_b ? "A and B"
                   : !of_a        ? "A"
                                  : "B") +
                  ": utilisation alone shows no work";
  return made;
}

}  // namespace

std::vector<std::string> ComparabilityVerdict::reasons() const {
  std::vector<std::string> found;
  for (const Agreement wanted : {Agreement::different, Agreement::unknown})
    for (const Condition& one : conditions)
      if (one.agreement == wanted && !one.reason.empty() &&
          (wanted == Agreement::different || one.is_required))
        found.push_back(one.reason);
  return found;
}

ComparabilityVerdict comparability_of(const Side& a, const Side& b) {
  const Facts& of_a = a.facts;
  const Facts& of_b = b.facts;
  ComparabilityVerdict found;
  found.conditions = {
      gpus_condition(a, b),
      condition("GPU model", stated(of_a.gpu_model), stated(of_b.gpu_model), true),
      condition("Nodes", counted(of_a.nodes), counted(of_b.nodes), false),
      condition("Model", stated(of_a.model), stated(of_b.model), true),
      condition("Batch", stated(of_a.batch), stated(of_b.batch), true),
      condition("Data", stated(of_a.dataset), stated(of_b.dataset), true),
      condition("Size of the data", bytes_words(of_a.dataset_bytes), bytes_words(of_b.dataset_bytes), false),
      condition("Workers that load data", stated(of_a.workers), stated(of_b.workers), false),
      condition("Version", stated(of_a.version), stated(of_b.version), false),
      condition("Precision", stated(of_a.precision), stated(of_b.precision), false),
      condition("Use of the nodes", exclusivity(a), exclusivity(b), true),
      memory_condition(a, b),
      result_condition(a, b),
  };
  if (auto unit = unit_condition(a, b)) found.conditions.push_back(std::move(*unit));
  const auto any = [&found](Agreement agreement, bool only_required) {
    return std::any_of(found.conditions.begin(), found.conditions.end(), [&](const Condition& one) {
      return one.agreement == agreement && (one.is_required || !only_required);
    });
  };
  if (any(Agreement::different, false))
    found.verdict = Comparability::not_comparable;
  else
    found.verdict = any(Agreement::unknown, true) ? Comparability::unproven : Comparability::comparable;
  return found;
}

std::string_view words_of(Comparability verdict) {
  switch (verdict) {
    case Comparability::comparable:
      return "comparable";
    case Comparability::unproven:
      return "not proven comparable";
    case Comparability::not_comparable:
      break;
  }
  return "not comparable";
}

}  // namespace autopilot::workloads::compare
