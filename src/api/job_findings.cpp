// SPDX-License-Identifier: Apache-2.0
#include "api/job_findings.hpp"

#include <string>
#include <vector>

#include "core/word_table.hpp"

namespace autopilot::api {
namespace {

constexpr WordTable<jobs::EntityKind, 7> kEntityKinds{{{jobs::EntityKind::unlocalised, "unlocalised"},
                                                       {jobs::EntityKind::program, "program"},
                                                       {jobs::EntityKind::gpu, "gpu"},
                                                       {jobs::EntityKind::nic, "nic"},
                                                       {jobs::EntityKind::host, "host"},
                                                       {jobs::EntityKind::leaf, "leaf"},
                                                       {jobs::EntityKind::storage, "storage"}}};

void write_number(JsonWriter& json, std::string_view name, const std::optional<double>& number) {
  if (number) json.number(name, *number);
}

void write_decision(JsonWriter& json, const jobs::Decision& decision) {
  json.begin_object("decision");
  json.word("choice", jobs::to_string(decision.choice));
  json.flag("recommendation", decision.is_recommendation);
  json.number("lossContinue", decision.loss_continue);
  json.number("lossCheckpoint", decision.loss_checkpoint);
  json.number("lossNow", decision.loss_now);
  json.number("sinceCheckpoint", decision.since_checkpoint);
  json.number("toCheckpoint", decision.to_checkpoint);
  json.number("restart", decision.restart);
  json.number("goodputLoss", decision.goodput_loss);
  json.number("probability", decision.probability);
  json.number("horizon", decision.horizon);
  json.word_if_any("because", decision.because);
  json.end_object();
}

}  // namespace

std::string_view to_string(jobs::EntityKind kind) {
  return word_of(kEntityKinds, kind);
}

std::optional<jobs::EntityKind> parse_entity_kind(std::string_view word) {
  return value_of(kEntityKinds, word);
}

void write_culprit(JsonWriter& json, const jobs::Entity& culprit) {
  json.begin_object("culprit");
  json.word("kind", to_string(culprit.kind));
  json.word_if_any(culprit.kind == jobs::EntityKind::leaf ? "leaf" : "node", culprit.node);
  if (culprit.kind == jobs::EntityKind::gpu) json.integer("gpu", culprit.gpu);
  json.word_if_any("nic", culprit.nic);
  json.word("text", jobs::to_string(culprit));
  json.end_object();
}

void write_evidence(JsonWriter& json, const std::vector<jobs::Evidence>& evidence) {
  json.begin_list("evidence");
  for (const jobs::Evidence& one : evidence) {
    json.begin_object();
    json.word("family", jobs::to_string(one.family));
    json.word("signal", one.signal);
    json.word("text", one.text);
    write_number(json, "value", one.value);
    write_number(json, "peers", one.peers);
    write_number(json, "threshold", one.threshold);
    json.number("logOdds", one.log_odds);
    json.time_if_any("time", one.time);
    json.end_object();
  }
  json.end_list();
}

void write_members(JsonWriter& json, const jobs::JobFinding& finding) {
  json.word("id", finding.id);
  json.word("job", finding.job);
  json.word("effect", jobs::to_string(finding.effect));
  json.word("severity", jobs::to_string(finding.severity));
  write_culprit(json, finding.culprit);
  json.integers("ranks", finding.ranks);
  json.word_if_any("cause", finding.cause);
  json.number("probability", finding.probability);
  json.time("onset", finding.onset);
  json.time("detected", finding.detected);
  if (finding.resolved) json.time("resolved", *finding.resolved);
  write_number(json, "slowdown", finding.slowdown);
  json.word("summary", finding.summary);
  write_evidence(json, finding.evidence);
  json.words("ruledOut", finding.ruled_out);
  write_decision(json, finding.decision);
  json.word_if_any("learnedWeights", finding.weights);
}

void write_members(JsonWriter& json, const jobs::JobState& job) {
  json.word("job", job.job);
  json.word_if_any("name", job.name);
  json.word("health", jobs::to_string(job.health));
  json.integer("attempt", job.attempt);
  json.integer("ranks", job.ranks);
  json.integer("nodes", job.nodes);
  write_number(json, "stepSeconds", job.step_s);
  if (job.step) json.integer("step", *job.step);
  if (job.last_step) json.time("lastStep", *job.last_step);
  json.word_if_any("progressSource", job.progress_source);
  json.words("notSeen", job.not_seen);
}

}  // namespace autopilot::api
