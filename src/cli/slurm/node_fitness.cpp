// SPDX-License-Identifier: Apache-2.0
#include "cli/slurm/node_fitness.hpp"

#include <algorithm>
#include <utility>

#include "core/parse.hpp"
#include "core/word_table.hpp"
#include "incidents/verdict.hpp"

namespace autopilot::cli {
namespace {

constexpr std::size_t kMaxReason = 200;
constexpr WordTable<Fitness, 3> kFitnesses{
    {{Fitness::fit, "fit"}, {Fitness::unfit, "unfit"}, {Fitness::unknown, "unknown"}}};
constexpr WordTable<SlurmStep, 3> kSteps{
    {{SlurmStep::none, "none"}, {SlurmStep::drain, "drain"}, {SlurmStep::resume, "resume"}}};

bool takes_out_of_service(const Incident& incident) {
  return !incident.injected && incident.health == Health::failed &&
         takes_device_out_of_service(incident.action);
}

bool takes_out_of_service(const Finding& finding) {
  return !finding.injected && finding.health == Health::failed && takes_device_out_of_service(finding.action);
}

// The incident, or the finding of a diagnostic, that most likely caused the verdict.
void name_cause(const NodeSnapshot& snapshot, NodeFitness& fitness) {
  for (const Incident& incident : snapshot.incidents)
    if (takes_out_of_service(incident)) {
      fitness.reason = incident.reason;
      fitness.id = incident.id;
      fitness.why = incident.summary;
      return;
    }
  for (const CheckResult& result : snapshot.results)
    for (const Finding& finding : result.findings)
      if (takes_out_of_service(finding)) {
        fitness.reason = finding.reason;
        fitness.id = result.check;
        fitness.why = finding.message;
        return;
      }
  fitness.reason = "verdict_evict";
  fitness.id = snapshot.boot_id.substr(0, 8);
  fitness.why = "the verdict of the node is EVICT";
}

const CheckResult* required_but_unknown(const NodeSnapshot& snapshot) {
  for (const CheckResult& result : snapshot.results)
    if (result.required && !incidents::has_looked(result)) return &result;
  return nullptr;
}

std::string joined_states(const SlurmNode& node) {
  std::string text;
  for (const std::string& state : node.states)
    text += (text.empty() ? "" : "+") + state;
  return text;
}

std::string sentence(std::string text) {
  text = to_printable(trim(text), 300);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace

std::string_view to_string(Fitness fitness) {
  return word_of(kFitnesses, fitness);
}

std::string_view to_string(SlurmStep step) {
  return word_of(kSteps, step);
}

NodeFitness fitness_of(const NodeSnapshot& snapshot) {
  NodeFitness fitness{.node = snapshot.node,
                      .verdict = std::string(to_string(snapshot.verdict)),
                      .is_simulated = snapshot.simulated};
  switch (snapshot.verdict) {
    case Verdict::evict:
      fitness.fitness = Fitness::unfit;
      name_cause(snapshot, fitness);
      break;
    case Verdict::pass:
    case Verdict::warn:
      if (const CheckResult* check = required_but_unknown(snapshot)) {
        fitness.why = "the required check " + check->check + " could not run";
        break;
      }
      fitness.fitness = Fitness::fit;
      fitness.why = "the verdict is " + fitness.verdict;
      break;
    case Verdict::testing:
      fitness.why = "a deep diagnostic has reserved the node";
      break;
    case Verdict::none:
      fitness.why =
          "there is no verdict: no accelerator was found, or a required check has not completed yet";
      break;
  }
  fitness.why = sentence(std::move(fitness.why));
  return fitness;
}

NodeFitness unknown_fitness(std::string why) {
  return {.why = sentence(std::move(why))};
}

std::string drain_reason(const NodeFitness& fitness) {
  return to_printable(std::string(kOwnDrain) + " " + fitness.reason + " " + fitness.id, kMaxReason);
}

SlurmDecision decide(const NodeFitness& fitness, const SlurmNode& node, bool may_resume) {
  if (fitness.fitness == Fitness::unknown) return {};
  if (fitness.fitness == Fitness::unfit) {
    if (!node.is_unavailable()) return {.step = SlurmStep::drain};
    if (node.has_own_reason()) return {.why = "it is drained already"};
    return {.why = "Slurm runs no jobs on it already" +
                   (node.reason.empty() ? std::string() : " (" + node.reason + ")")};
  }
  if (!node.is_in("DRAIN") || !node.has_own_reason()) {
    const bool is_drained_by_others = node.is_in("DRAIN") && !node.reason.empty();
    return {.why = is_drained_by_others ? "it stays drained: " + node.reason : std::string()};
  }
  if (!node.is_only_drained())
    return {.why = "it stays drained, because Slurm states more: " + joined_states(node)};
  if (!may_resume) return {.why = "it is drained; the health check resumes it"};
  return {.step = SlurmStep::resume};
}

}  // namespace autopilot::cli
