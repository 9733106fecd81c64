// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <string>
#include <utility>

#include "checks/builtin.hpp"
#include "checks/diagnostic_results.hpp"
#include "checks/judgement.hpp"
#include "core/observation.hpp"

namespace autopilot::checks {
namespace storage_pvc {
namespace {

constexpr std::string_view kId = "storage.pvc";
constexpr std::string_view kWitness = "kubernetes";

// Results of the diagnostic (host/diagnostic_results/results.hpp), one set for each class and access mode.
constexpr std::string_view kOutcome = "pvc.outcome";  // "bound", "not_bound", "no_class"
constexpr std::string_view kSeconds = "pvc.seconds";  // from the request to the volume or to the timeout
constexpr std::string_view kLeftBehind = "pvc.left_behind";

Result<Observed> observe(const host::Host& host, const Request& request) {
  return last_results(host, request, kId, kWitness);
}

class TestJudge {
 public:
  TestJudge(const JudgeInput& input, const Subject& tested)
      : input_(input), tested_(tested), outcome_(input.history.find(tested, kOutcome)) {}

  void add_to(Findings& findings) const {
    if (outcome_ == nullptr) return;
    add_unread(input_, tested_, kOutcome, findings);
    const std::string word = outcome_->value ? to_string(*outcome_->value) : "";
    if (word == "no_class")
      findings.push_back(finding(
          "storage_class_missing", Health::failed,
          "storage class " + attribute_text(*outcome_, "storageClass") + " does not exist in this cluster"));
    if (word == "not_bound") findings.push_back(not_bound());
    if (word == "bound") add_if_slow(findings);
    if (input_.history.number(tested_, kLeftBehind).value_or(0) != 0)
      findings.push_back(finding("pvc_left_behind", Health::degraded,
                                 "objects of a test of " + name() +
                                     " cannot be deleted: " + attribute_text(*outcome_, "leftBehind")));
  }

 private:
  [[nodiscard]] std::string name() const {
    return "storage class " + attribute_text(*outcome_, "storageClass") + " (" +
           attribute_text(*outcome_, "accessMode") + ")";
  }
  [[nodiscard]] double seconds() const { return input_.history.number(tested_, kSeconds).value_or(0); }

  [[nodiscard]] Finding finding(std::string_view reason, Health health, std::string message) const {
    Finding finding = make_finding(input_, tested_, reason, health, std::move(message));
    complete(finding);
    return finding;
  }
  void complete(Finding& finding) const {
    finding.evidence.emplace_back("seconds", seconds());
    for (const auto& [attribute, value] : outcome_->attributes)
      finding.evidence.emplace_back(attribute, value);
    finding.evidence.emplace_back("witness", outcome_->source);
  }

  [[nodiscard]] Finding not_bound() const {
    const std::string detail = attribute_text(*outcome_, "detail");
    return finding("pvc_not_bound", Health::failed,
                   name() + " provided no volume within " + rounded(seconds()) + " s" +
                       (detail.empty() ? "" : ": " + detail));
  }
  void add_if_slow(Findings& findings) const {
    const Limit most = limit(input_, "storage.pvc.slow_seconds");
    if (seconds() <= most.value) return;
    findings.push_back(make_finding(input_, tested_, "pvc_slow", Health::degraded,
                                    name() + " took " + rounded(seconds()) +
                                        " s to provide a volume (limit " + rounded(most.value) + " s)",
                                    seconds(), most));
    complete(findings.back());
  }

  const JudgeInput& input_;
  const Subject& tested_;
  const Observation* outcome_;
};

Findings judge(const JudgeInput& input) {
  Findings findings;
  for (const Subject& tested : input.history.subjects(SubjectKind::peer))
    TestJudge(input, tested).add_to(findings);
  return findings;
}

}  // namespace
}  // namespace storage_pvc

const Check kStoragePvc = {
    .info = active_check_info(storage_pvc::kId, "Volume claims", "storage", storage_pvc::kWitness,
                              std::chrono::seconds{30}),
    .observe = storage_pvc::observe,
    .judge = storage_pvc::judge,
};

}  // namespace autopilot::checks
