// SPDX-License-Identifier: Apache-2.0
#include "agent/history_facts.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "checks/judgement.hpp"
#include "core/stable_hash.hpp"
#include "core/text.hpp"
#include "jobs/scoring/labelled_findings.hpp"
#include "learning/record_check.hpp"
#include "learning/record_members.hpp"

namespace autopilot::agent {
namespace {

using learning::FaultClass;

constexpr std::string_view kMergedInto = "merged_into:";
constexpr std::string_view kJobFinding = "job-finding/";  // begin of an id
constexpr std::string_view kDriverCheck = "gpu.driver";
// Observations of that check.
constexpr std::string_view kDriverVersion = "driver.version";
constexpr std::string_view kAmdDriverVersion = "amdgpu.version";

// An id that is too long is replaced by its hash: a shortened one would meet another.
std::string id_at_node(const std::string& node, const std::string& id) {
  std::string whole = node + "/" + id;
  if (whole.size() <= learning::kLongestName) return whole;
  return "hash/" + std::to_string(stable_hash(whole).value());
}

// A clock that is set back must not end something before its begin.
std::optional<WallTime> end_after(WallTime begin, std::optional<WallTime> end) {
  if (end) *end = std::max(begin, *end);
  return end;
}

FaultClass class_of_subject(SubjectKind kind) {
  switch (kind) {
    case SubjectKind::gpu:
    case SubjectKind::gpu_instance:
    case SubjectKind::nvlink:
    case SubjectKind::nvswitch:
    case SubjectKind::disk:
    case SubjectKind::domain:
      return FaultClass::hardware;
    case SubjectKind::nic_port:
    case SubjectKind::link:
    case SubjectKind::peer:
      return FaultClass::network;
    case SubjectKind::process:
    case SubjectKind::pod:
    case SubjectKind::job:
      return FaultClass::application;
    case SubjectKind::mount:
    case SubjectKind::host:
      break;
  }
  return FaultClass::unknown;
}

bool is_of_card(SubjectKind kind) {
  return kind == SubjectKind::gpu || kind == SubjectKind::gpu_instance || kind == SubjectKind::nvlink;
}

bool is_of_software(Action action) {
  return action == Action::update_software || action == Action::restart_fabric_manager ||
         action == Action::recover_imex;
}

FaultClass class_of(const Incident& incident) {
  if (incident.end == FaultEnd::application) return FaultClass::application;
  if (is_of_software(incident.action)) return FaultClass::software;
  const FaultClass kind = class_of_subject(incident.blamed.kind);
  if (kind == FaultClass::unknown && incident.end == FaultEnd::hardware) return FaultClass::hardware;
  return kind;
}

// The worst that it was, also after it is over.
Health worst_of(const Incident& incident) {
  Health health = incident.health;
  for (const IncidentMember& member : incident.members)
    health = worst(health, member.finding.health);
  return health;
}

WallTime begin_of(const Incident& incident) {
  WallTime begin = incident.opened;
  for (const IncidentMember& member : incident.members)
    if (member.finding.since != WallTime{}) begin = std::min(begin, member.finding.since);
  return begin;
}

// The first job that it hit, as the scheduler or Kubernetes names it.
std::string job_of(const Incident& incident) {
  for (const GpuUser& user : incident.gpu_users) {
    if (!user.owner.job.empty()) return user.owner.job;
    if (!user.owner.pod.empty()) return user.owner.pod_namespace + "/" + user.owner.pod;
  }
  return {};
}

learning::Place place_of(const Subject& subject, const std::string& node, const GpuNames& gpus) {
  return {.cluster = {}, .node = node, .gpu = gpus.of(subject)};
}

std::optional<learning::Place> place_of(const jobs::Entity& culprit, const std::string& node,
                                        const GpuNames& gpus) {
  if (!culprit.is_accused() || culprit.kind == jobs::EntityKind::leaf || culprit.node.empty())
    return std::nullopt;
  learning::Place place{.cluster = {}, .node = culprit.node, .gpu = {}};
  if (culprit.kind == jobs::EntityKind::gpu && culprit.node == node) place.gpu = gpus.at(culprit.gpu);
  return place;
}

FaultClass class_of(jobs::EntityKind kind) {
  if (kind == jobs::EntityKind::gpu) return FaultClass::hardware;
  return kind == jobs::EntityKind::nic ? FaultClass::network : FaultClass::unknown;
}

Health health_of(jobs::Effect effect) {
  if (effect == jobs::Effect::hang || effect == jobs::Effect::crash) return Health::failed;
  return effect == jobs::Effect::none ? Health::unknown : Health::degraded;
}

learning::LabelAnswer answer_of(jobs::Verdict verdict) {
  if (verdict == jobs::Verdict::confirmed) return learning::LabelAnswer::faulty;
  return verdict == jobs::Verdict::refuted ? learning::LabelAnswer::healthy : learning::LabelAnswer::unclear;
}

// That counted, if the probability of the finding follows from them.
std::string signals_text(const jobs::JobFinding& finding) {
  std::string text;
  if (!jobs::has_weighed_signals(finding)) return text;
  for (const std::string& signal : jobs::signals_of(finding))
    text += (text.empty() ? "" : " ") + signal;
  return text;
}

std::string time_key(WallTime time) {
  return std::to_string(std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch()).count());
}

}  // namespace

bool GpuNames::learn(const NodeSnapshot& snapshot) {
  bool is_new = false;
  const auto note = [&](const Subject& subject) {
    if (subject.kind != SubjectKind::gpu) return;
    const std::string name = subject.serial.empty() ? subject.uuid : subject.serial;
    if (name.empty()) return;
    if (by_address_.size() < kMost || by_address_.contains(subject.key))
      is_new |= std::exchange(by_address_[subject.key], name) != name;
    if (subject.index && (by_index_.size() < kMost || by_index_.contains(*subject.index)))
      is_new |= std::exchange(by_index_[*subject.index], name) != name;
  };
  for (const CheckResult& result : snapshot.results)
    for (const Observation& observation : result.observations.all())
      note(observation.subject);
  return is_new;
}

std::string GpuNames::of(const Subject& subject) const {
  if (!is_of_card(subject.kind)) return {};
  if (subject.kind == SubjectKind::gpu && !subject.serial.empty()) return subject.serial;
  const auto known = by_address_.find(subject.key.substr(0, subject.key.find('/')));
  if (known != by_address_.end()) return known->second;
  return subject.kind == SubjectKind::gpu ? std::string(subject.uuid) : std::string();
}

std::string GpuNames::at(int index) const {
  const auto known = by_index_.find(index);
  return known == by_index_.end() ? std::string() : known->second;
}

std::optional<std::string> driver_version_in(const NodeSnapshot& snapshot) {
  for (const CheckResult& result : snapshot.results) {
    if (result.check != kDriverCheck) continue;
    if (result.completed == WallTime{} || result.health == Health::unknown) return std::nullopt;
    std::string version;
    for (const Observation& observation : result.observations.all()) {
      const bool is_version = observation.name == kDriverVersion || observation.name == kAmdDriverVersion;
      if (!is_version || !observation.value) continue;
      if (const auto* text = std::get_if<std::string>(&*observation.value)) version = *text;
    }
    return version;
  }
  return std::string();
}

// "threshold 3f2a91..., threshold ...": the learned thresholds that its findings were judged with.
std::string versions_of(const Incident& incident) {
  std::set<std::string> versions;
  for (const IncidentMember& member : incident.members)
    if (const std::string version = checks::learned_version(member.finding); !version.empty())
      versions.insert("threshold " + version);
  std::string text;
  for (const std::string& version : versions)
    text += (text.empty() ? "" : ", ") + version;
  return std::string(cut_utf8(text, learning::kLongestName));
}

SeenFault fault_of(const Incident& incident, const std::string& node, const GpuNames& gpus) {
  learning::Fault fault{.id = id_at_node(node, incident.id),
                        .place = place_of(incident.blamed, node, gpus),
                        .begin = begin_of(incident),
                        .detected = incident.opened,
                        .end = end_after(begin_of(incident), incident.closed),
                        .kind = class_of(incident),
                        .check = incident.check,
                        .cause = incident.reason,
                        .text = incident.summary,
                        .health = worst_of(incident),
                        .confidence = incident.confidence,
                        .job = job_of(incident),
                        .versions = versions_of(incident),
                        .action = {}};
  if (incident.action != Action::none) fault.action = incident.action;
  if (incident.closed_by.starts_with(kMergedInto)) {
    fault.confidence = 0;
    fault.text = "part of " + id_at_node(node, incident.closed_by.substr(kMergedInto.size()));
  }
  const bool is_card_unknown = fault.place.gpu.empty() && is_of_card(incident.blamed.kind);
  return {.fault = std::move(fault), .is_card_unknown = is_card_unknown};
}

std::optional<learning::Label> acknowledgement_of(const Incident& incident, const std::string& node,
                                                  const GpuNames& gpus) {
  if (!incident.acknowledged) return std::nullopt;
  const std::string fault = id_at_node(node, incident.id);
  return learning::Label{.id = id_at_node(fault, time_key(incident.acknowledged->at)),
                         .place = place_of(incident.blamed, node, gpus),
                         .time = incident.acknowledged->at,
                         .fault = fault,
                         .answer = learning::LabelAnswer::unclear,
                         .source = learning::LabelSource::user,
                         .cause = {},
                         .author = incident.acknowledged->by,
                         .note = incident.acknowledged->reason};
}

std::optional<SeenFault> fault_of(const jobs::JobFinding& finding, const std::string& node,
                                  const GpuNames& gpus) {
  const auto place = place_of(finding.culprit, node, gpus);
  if (!place || !finding.is_confirmed) return std::nullopt;
  learning::Fault fault{.id = id_at_node(place->node, std::string(kJobFinding) + finding.id),
                        .place = *place,
                        .begin = finding.onset,
                        .detected = std::max(finding.onset, finding.detected),
                        .end = end_after(finding.onset, finding.resolved),
                        .kind = class_of(finding.culprit.kind),
                        .check = {},
                        .cause = finding.cause,
                        .text = finding.summary,
                        .health = health_of(finding.effect),
                        .confidence = finding.probability,
                        .job = finding.job,
                        .versions = finding.weights.empty() ? "" : "signals " + finding.weights,
                        .action = {},
                        .signals = signals_text(finding)};
  return SeenFault{.fault = std::move(fault),
                   .is_card_unknown = place->gpu.empty() && finding.culprit.kind == jobs::EntityKind::gpu};
}

std::optional<learning::Fault> joined(const std::optional<learning::Fault>& stored, SeenFault now) {
  learning::Fault& fault = now.fault;
  if (!stored) return std::move(fault);
  const auto keep = [&](std::string& text, const std::string& known) {
    if (text.empty()) text = known;
  };
  if (now.is_card_unknown) keep(fault.place.gpu, stored->place.gpu);
  keep(fault.check, stored->check);
  keep(fault.cause, stored->cause);
  keep(fault.text, stored->text);
  keep(fault.job, stored->job);
  keep(fault.versions, stored->versions);
  if (!stored->signals.empty()) fault.signals = stored->signals;  // those of the detection
  learning::HistoryRecord as_stored = fault;
  learning::fit(as_stored);
  if (std::get<learning::Fault>(as_stored) == *stored) return std::nullopt;
  return std::move(fault);
}

bool is_of_finding(const learning::Fault& fault) {
  const std::string prefix = fault.place.node + "/" + std::string(kJobFinding);
  return learning::is_of_job(fault) && fault.place.cluster.empty() && fault.id.starts_with(prefix);
}

std::optional<learning::Label> label_of(const jobs::Feedback& feedback, const jobs::JobReport& report,
                                        const std::string& node, const GpuNames& gpus) {
  const auto finding = std::ranges::find(report.findings, feedback.finding, &jobs::JobFinding::id);
  if (finding == report.findings.end()) return std::nullopt;
  const auto place = place_of(finding->culprit, node, gpus);
  if (!place) return std::nullopt;
  const std::string fault = id_at_node(place->node, std::string(kJobFinding) + finding->id);
  return learning::Label{.id = id_at_node(fault, time_key(feedback.time)),
                         .place = *place,
                         .time = feedback.time,
                         .fault = fault,
                         .answer = answer_of(feedback.verdict),
                         .source = learning::LabelSource::user,
                         .cause = {},
                         .author = feedback.by,
                         .note = feedback.note};
}

learning::JobOutcome outcome_of(jobs::Outcome outcome) {
  switch (outcome) {
    case jobs::Outcome::completed:
      return learning::JobOutcome::completed;
    case jobs::Outcome::failed:
      return learning::JobOutcome::failed;
    case jobs::Outcome::stopped:
      return learning::JobOutcome::stopped;
    case jobs::Outcome::preempted:
      return learning::JobOutcome::preempted;
    case jobs::Outcome::unknown:
      break;
  }
  return learning::JobOutcome::unknown;
}

learning::NodeJob node_job_of(const jobs::JobRecord& record, const std::string& node, const GpuNames& gpus) {
  learning::NodeJob job{.id = {},
                        .place = {.cluster = {}, .node = node, .gpu = {}},
                        .job = record.job,
                        .name = record.name,
                        .gpus = {},
                        .start = record.time,
                        .end = {},
                        .failure = {}};
  std::set<std::string> names;
  for (const jobs::RankRecord& rank : record.ranks)
    if (rank.gpu) names.insert(gpus.at(*rank.gpu));
  names.erase("");
  job.gpus.assign(names.begin(), names.end());
  return job;
}

learning::NodeJob node_job_of(const jobs::JobEndRecord& record, const std::string& node) {
  return {.id = {},
          .place = {.cluster = {}, .node = node, .gpu = {}},
          .job = record.job,
          .name = {},
          .gpus = {},
          .start = record.time,
          .end = record.time,
          .outcome = outcome_of(record.outcome),
          .failure = {}};
}

std::optional<learning::NodeJob> continued(std::optional<learning::NodeJob> stored, learning::NodeJob now) {
  const bool continues = stored && !stored->end;
  if (!continues && now.end) return std::nullopt;
  if (!continues) {
    now.id = id_at_node(now.place.node, time_key(now.start) + "/" + now.job);
    return now;
  }
  now.id = stored->id;
  now.place = stored->place;
  now.start = std::min(stored->start, now.start);
  now.end = end_after(now.start, now.end);
  if (now.name.empty()) now.name = stored->name;
  if (now.gpus.empty()) now.gpus = stored->gpus;
  if (now.job_gpus == 0) now.job_gpus = stored->job_gpus;
  return now;
}

std::optional<learning::NodeJob> run_of(std::span<const learning::NodeJob> runs,
                                        const learning::NodeJob& ended) {
  const WallTime end = ended.end.value_or(WallTime::max());
  const learning::NodeJob* best = nullptr;
  Duration best_overlap{};
  Duration best_distance{};
  for (const learning::NodeJob& run : runs) {
    if (run.job != ended.job || run.place.node != ended.place.node || run.start > end) continue;
    const Duration overlap =
        std::min(end, run.end.value_or(WallTime::max())) - std::max(ended.start, run.start);
    const Duration distance = std::max(run.start, ended.start) - std::min(run.start, ended.start);
    if (distance > kStartTolerance && (overlap <= Duration{} || overlap < (end - ended.start) / 2)) continue;
    if (best != nullptr && std::pair(overlap, -distance) <= std::pair(best_overlap, -best_distance)) continue;
    best = &run;
    best_overlap = overlap;
    best_distance = distance;
  }
  return best == nullptr ? std::nullopt : std::optional(*best);
}

learning::NodeJob explained(const std::optional<learning::NodeJob>& stored, learning::NodeJob ended) {
  if (!stored) {
    ended.id = id_at_node(ended.place.node, time_key(ended.start) + "/" + ended.job);
    return ended;
  }
  learning::NodeJob job = *stored;
  if (!job.end) job.end = end_after(job.start, ended.end);
  if (job.gpus.empty()) job.gpus = std::move(ended.gpus);
  if (ended.outcome != learning::JobOutcome::unknown) job.outcome = ended.outcome;
  job.failure = std::move(ended.failure);
  return job;
}

}  // namespace autopilot::agent
