// SPDX-License-Identifier: Apache-2.0
#include "agent/learned/learned_part.hpp"

#include <utility>

#include "api/learned_signals.hpp"
#include "learning/adoption/propose_signals.hpp"
#include "logging/log.hpp"
#include "logging/metrics_text.hpp"

namespace autopilot::agent {
namespace {

constexpr Duration kLookAtVersions = std::chrono::seconds{5};

std::string limits_text(const LearnedLimits& limits) {
  std::string text;
  for (const auto& [id, limit] : limits)
    text += (text.empty() ? "" : ", ") + id + " (version " + limit.version + ")";
  return text.empty() ? "none" : text;
}

}  // namespace

LearnedPart::LearnedPart(LearnedPartContext context)
    : context_(std::move(context)),
      reader_(1, [reader = VersionReader(context_.folder)](Look) mutable { return reader.read(); }) {}

void LearnedPart::start() {
  look();
  watch_ = context_.loop.every(kLookAtVersions, [this] { look(); });
}

void LearnedPart::look() {
  for (const Result<StoredVersions>& stored : reader_.take())
    take(stored);
  (void)reader_.add(Look{});
}

void LearnedPart::take(const Result<StoredVersions>& stored) {
  if (!stored) return tell_problems({context_.folder + ": " + stored.error().what});
  tell_problems(stored->problems);
  use_weights(stored->versions);
  const SnapshotPtr snapshot = context_.runtime.snapshot();
  if (snapshot) use(learned_thresholds(stored->versions, kinds_.learn(*snapshot), context_.node));
}

void LearnedPart::tell_problems(const std::vector<std::string>& problems) {
  if (problems == problems_) return;
  problems_ = problems;
  for (const std::string& problem : problems)
    logging::log_warning("a learned version cannot be used", {{"cause", problem}});
}

void LearnedPart::use(runtime::LearnedThresholds thresholds) {
  if (thresholds == used_) return;
  used_ = thresholds;
  Event event;
  event.kind = EventKind::configuration_loaded;
  event.message = "learned thresholds in use: " + limits_text(used_.in_use) +
                  "; in shadow: " + limits_text(used_.shadowed);
  logging::log_info("learned thresholds changed",
                    {{"in_use", limits_text(used_.in_use)}, {"in_shadow", limits_text(used_.shadowed)}});
  context_.runtime.use_learned(std::move(thresholds));
  (void)context_.runtime.tell(std::move(event));
}

void LearnedPart::use_weights(const std::vector<learning::Version>& versions) {
  const learning::Version* used =
      learning::in_use(versions, learning::ProposalKind::signals, learning::kSignalsSubject, context_.node);
  const std::string id = used == nullptr ? "" : used->proposal.id;
  if (id == weights_) return;
  jobs::SignalWeightsPtr weights;
  if (used != nullptr) {
    auto read = api::weights_of(*used);
    if (!read) return tell_problems({id + ": " + read.error().what});
    weights = *std::move(read);
  }
  if (!context_.on_weights(std::move(weights))) return;
  weights_ = id;
  logging::log_info("learned weights of signals changed", {{"in_use", id.empty() ? "none" : id}});
}

std::string LearnedPart::metrics() const {
  logging::MetricsText metrics;
  metrics.family("autopilot_learned_threshold", logging::MetricType::gauge,
                 "Learned value of a threshold, in its unit.");
  for (const auto& [id, limit] : used_.in_use)
    metrics.sample({{"threshold", id}, {"version", limit.version}, {"state", "in_use"}}, limit.value);
  for (const auto& [id, limit] : used_.shadowed)
    metrics.sample({{"threshold", id}, {"version", limit.version}, {"state", "shadow"}}, limit.value);
  metrics.family("autopilot_learned_signals", logging::MetricType::gauge,
                 "1 for the version of learned weights of signals in use.");
  if (!weights_.empty()) metrics.sample({{"version", weights_}}, 1);
  metrics.family("autopilot_learned_shadow_findings", logging::MetricType::gauge,
                 "Findings that a version in shadow would add (more) or end (fewer) now.");
  for (const auto& [key, difference] : context_.runtime.shadow_differences()) {
    metrics.sample({{"version", key.first}, {"check", key.second}, {"change", "more"}},
                   static_cast<double>(difference.more));
    metrics.sample({{"version", key.first}, {"check", key.second}, {"change", "fewer"}},
                   static_cast<double>(difference.fewer));
  }
  return std::move(metrics).take();
}

}  // namespace autopilot::agent
