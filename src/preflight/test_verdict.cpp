// SPDX-License-Identifier: Apache-2.0
#include "preflight/test_verdict.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>

#include "checks/diagnostic_results.hpp"
#include "nettest/run/ping_observations.hpp"
#include "runtime/conclude.hpp"

namespace autopilot::preflight {
namespace {

std::vector<Subject> told_of(const Observations& observations) {
  std::vector<Subject> gpus;
  for (const Observation& one : observations)
    if (one.subject.kind == SubjectKind::gpu && std::ranges::find(gpus, one.subject) == gpus.end())
      gpus.push_back(one.subject);
  return gpus;
}

std::vector<Subject> gpus_of(const Operation& operation) {
  std::vector<Subject> gpus;
  std::ranges::copy_if(operation.reservation, std::back_inserter(gpus),
                       [](const Subject& one) { return one.kind == SubjectKind::gpu; });
  return gpus.empty() ? told_of(operation.observations) : gpus;
}

bool has_value(const Observations& observations, const Subject& gpu) {
  return std::ranges::any_of(observations,
                             [&gpu](const Observation& one) { return one.subject == gpu && one.value; });
}

std::optional<double> number_of(const Observation& observation) {
  return observation.value ? as_number(*observation.value) : std::nullopt;
}

// A fault of the host, or of a link of the GPU, concerns the GPU.
bool concerns(const Subject& subject, const Subject& gpu) {
  if (subject.kind != SubjectKind::link) return subject == gpu || subject == host_subject();
  const auto [from, to] = ends_of(subject);
  return from == gpu.key || to == gpu.key;
}

// A proven fault has priority over an unknown.
Health health_of(const Findings& findings) {
  const auto has = [&findings](Health health) {
    return std::ranges::find(findings, health, &Finding::health) != findings.end();
  };
  if (has(Health::failed)) return Health::failed;
  if (has(Health::degraded)) return Health::degraded;
  return findings.empty() ? Health::healthy : Health::unknown;
}

JudgedTest test_of(const Operation& operation) {
  return {.check = operation.kind,
          .operation = operation.id,
          .began = operation.started.value_or(operation.created),
          .finished = operation.finished.value_or(operation.created),
          .gpus = {}};
}

// Other findings about all paths of an interface, or about an IP family without answers, are as likely caused
// by the fabric, and do not justify moving a pod.
bool is_own_fault(const Finding& finding) {
  constexpr std::array<std::string_view, 3> kReasons{"interface_reaches_nobody", "path_loses_packets",
                                                     "path_is_late"};
  if (finding.subject == host_subject()) return true;
  return finding.subject.kind == SubjectKind::nic_port &&
         std::ranges::find(kReasons, finding.reason) != kReasons.end();
}

Finding not_known(std::string why) {
  Finding finding;
  finding.reason = "could_not_look";
  finding.message = std::move(why);
  return finding;
}

Findings unproven_interfaces(const Observations& seen) {
  const auto counts = nettest::ping_counts(seen);
  if (std::ranges::all_of(counts, [](const auto& one) { return one.second.asked == 0; }))
    return {not_known("no other node could be asked")};
  Findings findings;
  for (const auto& [interface, count] : counts)
    if (count.asked == 0)
      findings.push_back(not_known("no other node could be asked over " + interface));
    else if (count.unanswered >= count.asked)
      findings.push_back(not_known("no node answers over " + interface +
                                   ", and too few were asked to separate their faults from this node's"));
  return findings;
}

// Findings of the check for these observations alone.
Findings findings_in(const checks::Check& check, const Observations& observations, WallTime end,
                     const catalog::Catalog& facts, const Expectation& expectation) {
  History history;
  const Instant now = observations.empty() ? Instant{end, {}} : observations.front().time;
  checks::Observed observed;
  observed.observations = observations;
  checks::note_tested(observed.observations);
  observed.witnesses = check.info.witnesses;
  return runtime::conclude(check, std::move(observed), check.info.window, now, facts, expectation, history);
}

}  // namespace

const TestedGpu* JudgedTest::find(const Subject& gpu) const {
  if (host) return &*host;
  const auto found = std::ranges::find(gpus, gpu, &TestedGpu::gpu);
  return found == gpus.end() ? nullptr : &*found;
}

JudgedTest judge_test(const checks::Check& check, const Operation& operation, const catalog::Catalog& facts,
                      const Expectation& expectation) {
  JudgedTest test = test_of(operation);
  const Findings findings = findings_in(check, operation.observations, test.finished, facts, expectation);
  for (const Subject& gpu : gpus_of(operation)) {
    TestedGpu& tested = test.gpus.emplace_back(TestedGpu{gpu, Health::healthy, {}});
    std::ranges::copy_if(findings, std::back_inserter(tested.findings),
                         [&gpu](const Finding& one) { return concerns(one.subject, gpu); });
    tested.health = health_of(tested.findings);
    if (tested.health == Health::healthy && !has_value(operation.observations, gpu))
      tested.health = Health::unknown;
  }
  return test;
}

JudgedTest judge_pings(const checks::Check& check, const Operation& operation, const Observations& seen,
                       const catalog::Catalog& facts, const Expectation& expectation) {
  JudgedTest test = test_of(operation);
  TestedGpu& host = test.host.emplace();
  for (Finding& finding : findings_in(check, seen, test.finished, facts, expectation))
    if (is_own_fault(finding)) host.findings.push_back(std::move(finding));
  if (host.findings.empty()) host.findings = unproven_interfaces(seen);
  host.health = health_of(host.findings);
  return test;
}

std::optional<JudgedTest> judge_host_test(const Operation& operation) {
  const auto told =
      std::ranges::find(operation.observations, Interned(operation.kind + ".mismatches"), &Observation::name);
  const auto wrong = told == operation.observations.end() ? std::nullopt : number_of(*told);
  if (!wrong) return std::nullopt;
  JudgedTest test = test_of(operation);
  TestedGpu& host = test.host.emplace();
  if (*wrong == 0) return test;
  host.health = Health::failed;
  Finding& finding = host.findings.emplace_back();
  finding.health = Health::failed;
  finding.message = "the node computes wrongly: " + operation.message;
  finding.evidence.emplace_back("value", *wrong);
  return test;
}

void complete_subjects(Operation& operation, std::span<const Subject> known) {
  const auto complete = [known](Subject& subject) {
    const auto gpu = std::ranges::find(known, subject);
    if (gpu != known.end()) subject = *gpu;
  };
  for (Subject& subject : operation.reservation)
    complete(subject);
  for (Observation& observation : operation.observations)
    complete(observation.subject);
}

std::vector<PassRecord> pass_records_of(const JudgedTest& test, std::span<const Subject> all,
                                        const std::string& boot_id) {
  std::vector<PassRecord> records;
  const auto add = [&](const Subject& gpu) {
    if (!gpu.uuid.empty()) records.push_back({gpu.uuid, test.check, test.began, boot_id, test.operation});
  };
  for (const TestedGpu& tested : test.gpus)
    if (tested.health == Health::healthy) add(tested.gpu);
  if (test.host && test.host->health == Health::healthy) std::ranges::for_each(all, add);
  return records;
}

}  // namespace autopilot::preflight
