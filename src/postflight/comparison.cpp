// SPDX-License-Identifier: Apache-2.0
#include "postflight/comparison.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "core/parse.hpp"
#include "core/text.hpp"
#include "postflight/record_id.hpp"
#include "postflight/snapshot_facts.hpp"

namespace autopilot::postflight {
namespace {

constexpr std::array<std::string_view, 2> kRates{"gigabytes_per_second", "teraflops"};
constexpr std::size_t kLongestText = 400;
constexpr std::size_t kMostNamed = 3;  // in the sentence about the comparison

// "0000:3b:00.0" of the GPU, and of its links "0000:3b:00.0/3".
std::string_view gpu_key(const Subject& subject) {
  return std::string_view(subject.key).substr(0, subject.key.find('/'));
}

bool is_of_gpu(const Subject& subject) {
  return subject.kind == SubjectKind::gpu || subject.kind == SubjectKind::gpu_instance ||
         subject.kind == SubjectKind::nvlink;
}

const Subject* gpu_of(const Subject& subject, std::span<const Subject> gpus) {
  if (!is_of_gpu(subject)) return nullptr;
  const auto found =
      std::ranges::find(gpus, gpu_key(subject), [](const Subject& gpu) { return gpu_key(gpu); });
  return found == gpus.end() ? nullptr : &*found;
}

bool counts(const Finding& finding, std::span<const Subject> gpus) {
  return !finding.injected && finding.health != Health::healthy && finding.health != Health::unsupported &&
         concerns(finding.subject, gpus);
}

// Of these GPUs and the rest of the node; nullopt: no known result.
std::optional<Health> known_health(const CheckResult& result, std::span<const Subject> gpus) {
  if (result.completed == WallTime{} || result.health == Health::unsupported) return std::nullopt;
  if (result.findings.empty() && result.health == Health::unknown) return std::nullopt;
  Health health = Health::healthy;
  for (const Finding& finding : result.findings) {
    if (!counts(finding, gpus)) continue;
    if (finding.health == Health::unknown) return std::nullopt;
    health = worst(health, finding.health);
  }
  return health;
}

std::string name_of(const Subject& subject) {
  if (subject.kind == SubjectKind::gpu && subject.index)
    return "GPU " + std::to_string(*subject.index) + " (" + subject.key + ")";
  return to_string(subject);
}

// The finding that makes the check worse than `limit`.
const Finding* worst_finding(const CheckResult& result, std::span<const Subject> gpus) {
  const Finding* found = nullptr;
  for (const Finding& finding : result.findings)
    if (counts(finding, gpus) &&
        (found == nullptr || (found->health != Health::failed && finding.health == Health::failed)))
      found = &finding;
  return found;
}

std::string short_text(std::string_view text) {
  return std::string(cut_utf8(text, kLongestText));
}

const CheckResult* find_result(const CheckResults& results, const std::string& check) {
  const auto found = std::ranges::find(results, check, &CheckResult::check);
  return found == results.end() ? nullptr : &*found;
}

std::optional<double> rate_of(const Observation& one) {
  if (!one.value || one.is_event() || one.subject.kind != SubjectKind::gpu) return std::nullopt;
  const std::string_view unit = one.unit;
  if (std::ranges::find(kRates, unit) == kRates.end()) return std::nullopt;
  const auto number = as_number(*one.value);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

std::string rate_text(double rate, std::string_view unit) {
  const double rounded = std::round(rate * 10) / 10;
  return to_string(Value(rounded)) + (unit == "teraflops" ? " TFLOPS" : " GB/s");
}

void compare_rates(const CheckResult& before, const CheckResult& after, std::span<const Subject> gpus,
                   std::vector<std::string>& sentences) {
  for (const Observation& now : after.observations) {
    const auto rate = rate_of(now);
    if (!rate || gpu_of(now.subject, gpus) == nullptr) continue;
    const auto then = std::ranges::find_if(before.observations, [&now](const Observation& one) {
      return one.name == now.name && one.subject == now.subject;
    });
    if (then == before.observations.end()) continue;
    const auto earlier = rate_of(*then);
    if (!earlier || *earlier <= 0 || *rate >= kWorseShare * *earlier) continue;
    sentences.push_back(std::string(std::string_view(now.name)) + " of " + name_of(now.subject) + ": " +
                        rate_text(*rate, now.unit) + ", " + rate_text(*earlier, now.unit) +
                        " before the job");
  }
}

}  // namespace

std::string card_of(const Subject& gpu) {
  if (!gpu.serial.empty()) return std::string(std::string_view(gpu.serial));
  if (!gpu.uuid.empty()) return std::string(std::string_view(gpu.uuid));
  return std::string(gpu_key(gpu));
}

bool concerns(const Subject& subject, std::span<const Subject> gpus) {
  return !is_of_gpu(subject) || gpu_of(subject, gpus) != nullptr;
}

std::vector<learning::CheckOutcome> outcomes_of(const CheckResult& result, std::span<const Subject> gpus) {
  if (result.health == Health::unsupported) return {};
  std::vector<learning::CheckOutcome> outcomes;
  for (const Finding& finding : result.findings) {
    if (!counts(finding, gpus)) continue;
    const Subject* gpu = gpu_of(finding.subject, gpus);
    outcomes.push_back({.check = result.check,
                        .gpu = gpu == nullptr ? "" : card_of(*gpu),
                        .health = finding.health,
                        .reason = finding.reason,
                        .text = short_text(name_of(finding.subject) + ": " + finding.message)});
  }
  if (!outcomes.empty()) return outcomes;
  const bool is_unknown = result.health == Health::unknown && result.findings.empty();
  outcomes.push_back({.check = result.check,
                      .gpu = {},
                      .health = is_unknown ? Health::unknown : Health::healthy,
                      .reason = {},
                      .text = is_unknown ? "the check has no result" : ""});
  return outcomes;
}

Comparison compare(const CheckResults& before, std::span<const CheckResult> after,
                   std::span<const Subject> gpus) {
  Comparison comparison;
  for (const CheckResult& now : after) {
    const CheckResult* then = find_result(before, now.check);
    const auto earlier = then == nullptr ? std::nullopt : known_health(*then, gpus);
    if (!earlier) continue;
    compare_rates(*then, now, gpus, comparison.sentences);
    const auto health = known_health(now, gpus);
    if (!health) {
      if (now.health != Health::unsupported) comparison.lost.push_back(now.check);
      continue;
    }
    ++comparison.compared;
    if (worst(*earlier, *health) == *earlier) continue;
    ++comparison.worse;
    comparison.checks.push_back(now.check);
    const Finding* finding = worst_finding(now, gpus);
    comparison.sentences.push_back(
        now.check + ": " + std::string(to_string(*earlier)) + " before the job, " +
        std::string(to_string(*health)) + " after it" +
        (finding == nullptr ? "" : "; " + short_text(name_of(finding->subject) + ": " + finding->message)));
  }
  return comparison;
}

std::string to_sentence(const Comparison& comparison) {
  if (comparison.compared == 0) return {};
  const std::string checks =
      std::to_string(comparison.compared) + (comparison.compared == 1 ? " check" : " checks");
  if (comparison.sentences.empty()) return "all of " + checks + " are as good as before the job";
  std::string text = std::to_string(comparison.worse) + " of " + checks + " not as good as before the job";
  for (std::size_t at = 0; at < std::min(comparison.sentences.size(), kMostNamed); ++at)
    text += (at == 0 ? ": " : "; ") + comparison.sentences[at];
  if (comparison.sentences.size() > kMostNamed)
    text += "; and " + std::to_string(comparison.sentences.size() - kMostNamed) + " more";
  return text;
}

std::vector<learning::Measurement> measurements_of(const std::string& check, const Observations& observations,
                                                   const NodeSnapshot& snapshot, const std::string& node,
                                                   const std::string& run, WallTime time) {
  std::vector<learning::Measurement> measurements;
  for (const Observation& one : observations) {
    const auto rate = rate_of(one);
    if (!rate) continue;
    learning::Measurement measurement;
    measurement.kind = kind_of(snapshot, one.subject);
    if (measurement.kind.empty()) continue;
    measurement.place = {.cluster = {}, .node = node, .gpu = card_of(one.subject)};
    measurement.time = time;
    measurement.check = check;
    measurement.metric = std::string(std::string_view(one.name));
    measurement.values = {*rate};
    measurement.id = record_id(node + "/" + run + "/" + measurement.metric + "/" + measurement.place.gpu);
    measurements.push_back(std::move(measurement));
  }
  return measurements;
}

}  // namespace autopilot::postflight
