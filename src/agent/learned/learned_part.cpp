// SPDX-License-Identifier: Apache-2.0
#include "agent/learned/learned_part.hpp"

#include <mutex>
#include <optional>
#include <utility>

#include "agent/learned/learned_limits.hpp"
#include "logging/log.hpp"
#include "logging/metrics_text.hpp"

namespace autopilot::agent {
namespace {

constexpr Duration kLookAtVersions = std::chrono::seconds{5};
constexpr int kMostLooks = 120;  // before the folder is read again without an answer

std::string limits_text(const LearnedLimits& limits) {
  std::string text;
  for (const auto& [id, limit] : limits)
    text += (text.empty() ? "" : ", ") + id + " (version " + limit.version + ")";
  return text.empty() ? "none" : text;
}

}  // namespace

// What the other thread has read, until the loop takes it. That thread can outlive the agent.
struct LearnedPart::Mailbox {
  std::mutex mutex;
  std::optional<Result<StoredVersions>> arrived;
  bool is_awaited = false;
};

LearnedPart::LearnedPart(LearnedPartContext context)
    : context_(std::move(context)), mailbox_(std::make_shared<Mailbox>()) {}

void LearnedPart::start() {
  look();
  watch_ = context_.loop.every(kLookAtVersions, [this] { look(); });
}

void LearnedPart::look() {
  std::optional<Result<StoredVersions>> arrived;
  bool is_awaited = false;
  {
    const std::lock_guard lock(mailbox_->mutex);
    arrived = std::exchange(mailbox_->arrived, std::nullopt);
    // The task is lost if too much waits for the disk.
    is_awaited = mailbox_->is_awaited && ++looks_ < kMostLooks;
    mailbox_->is_awaited = true;
  }
  if (arrived) take(*arrived);
  if (is_awaited) return;
  looks_ = 0;
  context_.run_blocking([mailbox = mailbox_, folder = context_.folder] {
    auto stored = VersionStore(folder).read();
    const std::lock_guard lock(mailbox->mutex);
    mailbox->arrived = std::move(stored);
    mailbox->is_awaited = false;
  });
}

void LearnedPart::take(const Result<StoredVersions>& stored) {
  if (!stored) return tell_problems({context_.folder + ": " + stored.error().what});
  tell_problems(stored->problems);
  const SnapshotPtr snapshot = context_.runtime.snapshot();
  if (snapshot) use(learned_thresholds(stored->versions, machine_kinds(*snapshot), context_.node));
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

std::string LearnedPart::metrics() const {
  logging::MetricsText metrics;
  metrics.family("autopilot_learned_threshold", logging::MetricType::gauge,
                 "Learned value of a threshold, in its unit.");
  for (const auto& [id, limit] : used_.in_use)
    metrics.sample({{"threshold", id}, {"version", limit.version}, {"state", "in_use"}}, limit.value);
  for (const auto& [id, limit] : used_.shadowed)
    metrics.sample({{"threshold", id}, {"version", limit.version}, {"state", "shadow"}}, limit.value);
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
