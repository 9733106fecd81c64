// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>
#include <utility>

#include "api/job_findings.hpp"

namespace autopilot::api {
namespace {

// The value of an enumeration that `to_string` names so.
template <class E, std::size_t N>
std::optional<E> find_word(const std::array<E, N>& values, std::string_view word) {
  for (const E value : values)
    if (to_string(value) == word) return value;
  return std::nullopt;
}

std::optional<jobs::Effect> parse_effect(std::string_view word) {
  using enum jobs::Effect;
  return find_word(std::array{none, slow, regression, hang, crash}, word);
}

std::optional<jobs::Family> parse_family(std::string_view word) {
  using enum jobs::Family;
  return find_word(std::array{ecc, clock, pcie, nvlink, nic, host, progress, history}, word);
}

std::optional<jobs::JobHealth> parse_job_health(std::string_view word) {
  using enum jobs::JobHealth;
  return find_word(std::array{unknown, starting, running, slow, stalled, hung, ended}, word);
}

jobs::Decision read_decision(const JsonObject& object) {
  jobs::Decision decision;
  decision.choice = object.choice("choice", parse_job_choice);
  decision.is_recommendation = object.flag("recommendation");
  // A loss that is not finite is left out.
  decision.loss_continue = object.number_if_any("lossContinue").value_or(0);
  decision.loss_checkpoint = object.number_if_any("lossCheckpoint").value_or(0);
  decision.loss_now = object.number_if_any("lossNow").value_or(0);
  decision.since_checkpoint = object.number_if_any("sinceCheckpoint").value_or(0);
  decision.to_checkpoint = object.number_if_any("toCheckpoint").value_or(0);
  decision.restart = object.number_if_any("restart").value_or(0);
  decision.goodput_loss = object.number_if_any("goodputLoss").value_or(0);
  decision.probability = object.number_if_any("probability").value_or(0);
  decision.horizon = object.number_if_any("horizon").value_or(0);
  decision.because = object.word_or_empty("because");
  return decision;
}

}  // namespace

std::optional<jobs::Severity> parse_job_severity(std::string_view word) {
  using enum jobs::Severity;
  return find_word(std::array{info, ticket, page}, word);
}

std::optional<jobs::Choice> parse_job_choice(std::string_view word) {
  using enum jobs::Choice;
  return find_word(std::array{keep_running, swap_at_checkpoint, stop_now, restart_in_place}, word);
}

jobs::Entity read_culprit(const JsonObject& object) {
  jobs::Entity culprit;
  culprit.kind = object.choice("kind", parse_entity_kind);
  culprit.node = object.word_or_empty(culprit.kind == jobs::EntityKind::leaf ? "leaf" : "node");
  if (object.has("gpu")) culprit.gpu = object.small_integer("gpu");
  culprit.nic = object.word_or_empty("nic");
  return culprit;
}

jobs::Evidence read_evidence(const JsonObject& object) {
  jobs::Evidence evidence;
  evidence.family = object.choice("family", parse_family);
  evidence.signal = object.word("signal");
  evidence.text = object.word("text");
  evidence.value = object.number_if_any("value");
  evidence.peers = object.number_if_any("peers");
  evidence.threshold = object.number_if_any("threshold");
  evidence.log_odds = object.number_if_any("logOdds").value_or(0);
  evidence.time = object.time_if_any("time").value_or(WallTime{});
  return evidence;
}

jobs::JobFinding read_job_finding(const JsonObject& object) {
  jobs::JobFinding finding;
  finding.id = object.word("id");
  finding.job = object.word("job");
  finding.effect = object.choice("effect", parse_effect);
  finding.severity = object.choice("severity", parse_job_severity);
  finding.culprit = object.object("culprit", read_culprit);
  finding.ranks = object.small_integers("ranks");
  finding.cause = object.word_or_empty("cause");
  finding.probability = object.number_if_any("probability").value_or(0);
  finding.onset = object.time("onset");
  finding.detected = object.time("detected");
  finding.resolved = object.time_if_any("resolved");
  finding.slowdown = object.number_if_any("slowdown");
  finding.summary = object.word("summary");
  finding.evidence = object.list("evidence", read_evidence);
  finding.ruled_out = object.words("ruledOut");
  finding.decision = object.object("decision", read_decision);
  finding.weights = object.word_or_empty("learnedWeights");
  return finding;
}

jobs::JobState read_job_state(const JsonObject& object) {
  jobs::JobState job;
  job.job = object.word("job");
  job.name = object.word_or_empty("name");
  job.health = object.choice("health", parse_job_health);
  job.attempt = object.small_integer("attempt");
  job.ranks = object.small_integer("ranks");
  job.nodes = object.small_integer("nodes");
  job.step_s = object.number_if_any("stepSeconds");
  if (object.has("step")) job.step = static_cast<std::int64_t>(object.count("step"));
  job.last_step = object.time_if_any("lastStep");
  job.progress_source = object.word_or_empty("progressSource");
  job.not_seen = object.words("notSeen");
  return job;
}

}  // namespace autopilot::api
