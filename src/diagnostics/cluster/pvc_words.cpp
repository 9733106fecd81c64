// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/cluster/pvc_words.hpp"

#include <string_view>
#include <utility>

#include "host/diagnostic_results/results.hpp"

namespace autopilot::diagnostics {
namespace {

using Outcome = PvcResult::Outcome;

constexpr std::string_view word_of(Outcome outcome) {
  if (outcome == Outcome::bound) return "bound";
  return outcome == Outcome::no_class ? "no_class" : "not_bound";
}

Observation observation_of(const PvcTarget& target, std::string_view name, Instant ended) {
  Observation observation;
  observation.name = name;
  observation.subject.kind = SubjectKind::peer;
  observation.subject.key = target.storage_class + "/" + target.access_mode;
  observation.source = "kubernetes";
  observation.time = ended;
  return observation;
}

void add_words(Attributes& attributes, const PvcResult& result) {
  const auto add = [&](std::string_view name, const std::string& word) {
    if (!word.empty()) attributes.emplace_back(name, word);
  };
  add("provisioner", result.provisioner);
  add("phase", result.phase);
  add("detail", result.detail);
  add("leftBehind", result.left_behind);
  if (result.outcome == Outcome::unknown) add("error", result.why.what);
}

}  // namespace

Observations pvc_observations(const PvcTarget& target, const std::optional<PvcResult>& result,
                              const PvcTimes& times, Instant ended) {
  Observation outcome = observation_of(target, "pvc.outcome", ended);
  outcome.attributes = {{"storageClass", target.storage_class},
                        {"accessMode", target.access_mode},
                        {"patienceSeconds", to_seconds(times.patience)}};
  if (!result) {
    outcome.missing = host::kNotTested;
    outcome.attributes.emplace_back("error", "no test has ended since the agent started");
    return {outcome};
  }
  add_words(outcome.attributes, *result);
  if (result->outcome == Outcome::unknown)
    outcome.missing = to_string(result->why.code);
  else
    outcome.value = std::string(word_of(result->outcome));
  Observations all{std::move(outcome)};
  if (result->outcome == Outcome::bound || result->outcome == Outcome::not_bound) {
    all.push_back(observation_of(target, "pvc.seconds", ended));
    all.back().value = to_seconds(result->took);
    all.back().unit = "seconds";
  }
  if (!result->left_behind.empty()) {
    all.push_back(observation_of(target, "pvc.left_behind", ended));
    all.back().value = true;
  }
  return all;
}

}  // namespace autopilot::diagnostics
