// SPDX-License-Identifier: Apache-2.0
#include "jobs/detectors/peer_scores.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <tuple>

#include "jobs/detectors/series.hpp"

namespace autopilot::jobs {
namespace {

constexpr std::size_t kLeastScored = 4;

WallTime end_of_block(WallTime time) {
  return WallTime((time.time_since_epoch() + PeerScores::kBlock - Duration{1}) / PeerScores::kBlock *
                  PeerScores::kBlock);
}

// The margin that is reached in `k` of these minutes.
float kth_largest(std::vector<float> minutes, int k) {
  const auto at = minutes.begin() + (k - 1);
  std::nth_element(minutes.begin(), at, minutes.end(), std::greater{});
  return *at;
}

}  // namespace

std::vector<float> margins_reached(std::span<const float> values, const PeerRule& rule,
                                   PeerScratch& scratch) {
  std::vector<float> reached(values.size(), std::numeric_limits<float>::quiet_NaN());
  std::vector<float>& known = scratch.values;
  known.clear();
  for (const float value : values)
    if (std::isfinite(value)) known.push_back(value);
  if (rule.comparison != Comparison::robust || known.size() < kLeastScored) return reached;
  const auto median = static_cast<float>(series_median(known).value_or(0));
  const auto sigma = static_cast<float>(series_sigma(known, static_cast<double>(median)).value_or(0));
  const float spread = std::max({sigma, rule.floor_relative * std::abs(median), rule.floor_absolute});
  const float margin =
      std::max(rule.z * spread, rule.shortfall * std::max(std::abs(median), rule.floor_absolute));
  const float sign = rule.worse == Worse::low ? -1.0F : 1.0F;
  for (std::size_t at = 0; at < values.size(); ++at)
    if (std::isfinite(values[at])) reached[at] = sign * (values[at] - median) / margin;
  return reached;
}

void PeerScores::add(Part part, const PeerRule& rule, const std::string& node, float margins, WallTime end) {
  if (!std::isfinite(margins)) return;
  std::vector<float>& minutes = minutes_[part];
  minutes.push_back(margins);
  const auto most = static_cast<std::size_t>(rule.history.m);
  if (minutes.size() > most) minutes.erase(minutes.begin());
  if (minutes.size() < most) return;
  const auto held = static_cast<double>(kth_largest(minutes, rule.history.k));
  const WallTime block_end = end_of_block(end);
  const std::pair key(std::string(rule.signal), node);
  const auto [found, is_new] = blocks_.try_emplace(key, Block{block_end, held});
  Block& block = found->second;
  if (!is_new && block.end != block_end) {
    finish(key.first, node, block);
    block = {block_end, held};
  }
  block.margins = std::max(block.margins, held);
}

void PeerScores::finish(const std::string& signal, const std::string& node, const Block& block) {
  if (done_.size() < kMostScores) done_.push_back({signal, node, block.end, block.margins});
}

std::vector<PeerScore> PeerScores::take() {
  std::vector<PeerScore> scores = std::exchange(done_, {});
  std::ranges::sort(scores, {},
                    [](const PeerScore& one) { return std::tie(one.signal, one.node, one.time); });
  return scores;
}

}  // namespace autopilot::jobs
