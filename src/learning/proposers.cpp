// SPDX-License-Identifier: Apache-2.0
#include "learning/proposers.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <utility>
#include <variant>

#include "learning/baseline/contributors.hpp"
#include "learning/baseline/reference.hpp"

namespace autopilot::learning {
namespace {

std::string print_number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", value);  // NOLINT(cert-err33-c): six digits always fit
  return text.data();
}

std::string percent(double share) {
  return print_number(std::round(10000 * share) / 100) + " %";
}

std::string words_of(const Baseline& baseline) {
  return "median " + print_number(baseline.sketch.at(kSketchPoints / 2)) + ", fails below " +
         percent(baseline.alpha);
}

std::string sentence_of(const std::string& subject, const std::string& from, const std::string& to) {
  if (from.empty()) return "New for " + subject + ": " + to;
  return "For " + subject + ": " + to + " instead of " + from;
}

bool is_replayed(WallTime time, WallTime now) {
  return time > now - kReplayed && time <= now;
}

// Measurements of the kind at its level, each judged by itself.
ProposalReplay replay_baselines(std::span<const Measurement> measurements, const Baseline* before,
                                const Baseline& after, KindLevel level, WallTime now) {
  ProposalReplay replay;
  for (const Measurement& measurement : measurements) {
    const MetricKey& key = after.key;
    if (measurement.check != key.check || measurement.metric != key.metric) continue;
    const auto kind = parse_kind(measurement.kind);
    if (!kind || kind_text(*kind, level) != key.kind || !is_replayed(measurement.time, now)) continue;
    const auto is_failed = [&](const Baseline& baseline) {
      return judge_node(baseline, measurement.values, kMostRepeats).verdict == BaselineVerdict::fail;
    };
    ++replay.evaluations;
    if (before != nullptr && is_failed(*before)) ++replay.before;
    if (is_failed(after)) ++replay.after;
  }
  return replay;
}

std::size_t count_values(const Contributions& contributions) {
  std::size_t count = 0;
  for (const NodeResults& node : contributions.nodes)
    count += node.values.steps().size();
  return count;
}

std::string_view role_word(CheckRole role) {
  return role == CheckRole::gating ? "gating" : "advisory";
}

}  // namespace

Result<std::optional<BaselineProposal>> propose_baseline(std::span<const Measurement> measurements,
                                                         std::span<const Fault> faults,
                                                         const std::set<std::string>& probation,
                                                         const MetricKey& key, const Baseline* parent,
                                                         WallTime now) {
  const Contributions found =
      TRY(contributions_of(measurements, faults, probation, key.kind, key.check, key.metric));
  const ReferenceAnswer answer = TRY(fit_reference(found.nodes, key.worse));
  if (const auto* split = std::get_if<Bimodal>(&answer))
    return fail(Errc::conflict, key.metric + " of " + key.check + ": " + split->sentence());
  MetricKey used = key;
  used.kind = found.kind;
  const std::optional<Baseline> next = TRY(next_version(parent, used, std::get<Reference>(answer), now));
  if (!next) return std::nullopt;
  Proposal draft{.kind = ProposalKind::baseline,
                 .subject = used.metric + " of " + used.check + " on " + used.kind,
                 .from = parent == nullptr ? "" : words_of(*parent),
                 .to = words_of(*next),
                 .from_version = next->parent,
                 .to_version = next->version,
                 .basis = {count_values(found), found.nodes.size(), found.excluded, found.first, found.last},
                 .replay = replay_baselines(measurements, parent, *next, found.level, now)};
  draft.sentence = sentence_of(draft.subject, draft.from, draft.to);
  return BaselineProposal{make_proposal(std::move(draft), now), *next};
}

Result<std::optional<ThresholdProposal>> propose_threshold(std::span<const Score> scores,
                                                           std::span<const LabelledFault> faults,
                                                           const ThresholdInUse& in_use, const Budget& budget,
                                                           WallTime now) {
  constexpr double kLeastChange = 0.01;
  if (is_hard_rule(in_use.check))
    return fail(Errc::unsupported, in_use.check + " is a hard rule; no threshold is learned for it");
  const double rate = TRY(rate_of(budget));
  const std::vector<Score> usable = usable_scores(scores, faults);
  const Threshold threshold = TRY(learn_threshold(usable, rate));
  if (std::abs(threshold.value - in_use.value) <= kLeastChange * std::abs(in_use.value)) return std::nullopt;
  Proposal draft{.kind = ProposalKind::threshold,
                 .subject = in_use.metric + " of " + in_use.check + " on " + in_use.kind,
                 .from = "threshold " + print_number(in_use.value),
                 .to = "threshold " + print_number(threshold.value),
                 .from_version = in_use.version,
                 .to_version = in_use.version + 1};
  std::vector<Score> last;
  for (const Score& score : usable) {
    if (is_replayed(score.time, now)) last.push_back(score);
    if (draft.basis.records == 0 || score.time < draft.basis.first) draft.basis.first = score.time;
    draft.basis.last = std::max(draft.basis.last, score.time);
    if (draft.basis.records == 0 || usable[draft.basis.records - 1].place != score.place)
      ++draft.basis.places;
    ++draft.basis.records;
  }
  draft.replay = {last.size(), findings_above(last, in_use.value), findings_above(last, threshold.value)};
  draft.sentence = sentence_of(draft.subject, draft.from, draft.to);
  return ThresholdProposal{make_proposal(std::move(draft), now), threshold};
}

std::optional<Proposal> propose_role(std::span<const SettledFault> settled, const CheckInUse& in_use,
                                     WallTime now) {
  const CheckPrecision precision = precision_of(in_use.check, in_use.kind, settled);
  const CheckRole role = next_role(precision, in_use.role);
  if (role == in_use.role) return std::nullopt;
  Proposal draft{.kind = ProposalKind::check_role,
                 .subject = in_use.check + " on " + in_use.kind,
                 .from = std::string(role_word(in_use.role)),
                 .to = std::string(role_word(role)),
                 .from_version = in_use.version,
                 .to_version = in_use.version + 1};
  for (const SettledFault& fault : settled) {
    if (fault.check != in_use.check || fault.trust < kLeastTrust) continue;
    const bool is_finding_now = is_replayed(fault.time, now);
    if (draft.basis.records == 0 || fault.time < draft.basis.first) draft.basis.first = fault.time;
    draft.basis.last = std::max(draft.basis.last, fault.time);
    ++draft.basis.records;
    if (!is_finding_now) continue;
    ++draft.replay.evaluations;
    ++(role == CheckRole::gating ? draft.replay.after : draft.replay.before);
  }
  draft.sentence = sentence_of(draft.subject, draft.from, draft.to) + "; " + std::to_string(precision.right) +
                   " findings were right and " + std::to_string(precision.wrong) + " wrong";
  return make_proposal(std::move(draft), now);
}

}  // namespace autopilot::learning
