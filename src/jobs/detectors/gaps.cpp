// SPDX-License-Identifier: Apache-2.0
#include "jobs/detectors/gaps.hpp"

#include <algorithm>
#include <cmath>

namespace autopilot::jobs {
namespace {

constexpr double kShortestGap = 0.1;
constexpr double kLongestGap = 1e5;
constexpr double kBinRatio = 1.02;  // the middle of a bin is within 1 % of each value in it

constexpr double kTailQuantile = 0.995;  // reference 2a.6: an exponential tail beyond it
// Beyond the tenth longest gap, if more are known: the tail of all steps overestimates that of rare
// checkpoints. In simulated jobs whose checkpoints nothing else shows, the time to a suspicion fell from 604
// s to 357 s (p90).
constexpr double kTailGaps = 10;
constexpr double kRecurringMargin = 1.5;
constexpr double kSearchRatio = 1.02;

std::uint16_t bin_of_gap(double gap_s) {
  const double clamped = std::clamp(gap_s, kShortestGap, kLongestGap);
  return static_cast<std::uint16_t>(
      std::floor(std::log(clamped / kShortestGap) / std::log(kBinRatio) + 1e-9));
}

double middle_of_bin(std::uint16_t index) {
  return kShortestGap * std::pow(kBinRatio, static_cast<double>(index)) * 2 * kBinRatio / (1 + kBinRatio);
}

}  // namespace

void GapSketch::add(double gap_s) {
  if (!std::isfinite(gap_s) || gap_s <= 0) return;
  add(bin_of_gap(gap_s), 1);
}

void GapSketch::add(std::uint16_t index, std::uint64_t count) {
  auto bin = std::lower_bound(bins_.begin(), bins_.end(), index,
                              [](const Bin& held, std::uint16_t wanted) { return held.index < wanted; });
  if (bin == bins_.end() || bin->index != index) bin = bins_.insert(bin, Bin{index, 0});
  const std::uint64_t room = UINT32_MAX - bin->count;
  const std::uint64_t added = std::min(count, room);
  bin->count += static_cast<std::uint32_t>(added);
  count_ += added;
}

void GapSketch::merge(const GapSketch& other) {
  const std::vector<Bin> added = other.bins_;  // `other` may be this sketch
  for (const Bin& bin : added)
    add(bin.index, bin.count);
}

std::optional<double> GapSketch::quantile(double q) const {
  if (count_ == 0 || !(q >= 0 && q <= 1)) return std::nullopt;
  const double wanted = q * static_cast<double>(count_);
  double passed = 0;
  for (const Bin& bin : bins_) {
    passed += static_cast<double>(bin.count);
    if (passed >= wanted && passed > 0) return middle_of_bin(bin.index);
  }
  return middle_of_bin(bins_.back().index);
}

double GapSketch::total_s() const {
  double total = 0;
  for (const Bin& bin : bins_)
    total += static_cast<double>(bin.count) * middle_of_bin(bin.index);
  return total;
}

std::uint64_t GapSketch::above(double gap_s) const {
  std::uint64_t found = 0;
  for (auto bin = bins_.rbegin(); bin != bins_.rend() && middle_of_bin(bin->index) > gap_s; ++bin)
    found += bin->count;
  return found;
}

std::optional<double> GapSketch::mean_excess(double gap_s) const {
  double sum = 0;
  std::uint64_t found = 0;
  bool is_longest = true;
  for (auto bin = bins_.rbegin(); bin != bins_.rend() && middle_of_bin(bin->index) > gap_s; ++bin) {
    const std::uint64_t used = bin->count - (is_longest ? 1U : 0U);
    is_longest = false;
    sum += static_cast<double>(used) * (middle_of_bin(bin->index) - gap_s);
    found += used;
  }
  if (found == 0) return std::nullopt;
  return sum / static_cast<double>(found);
}

class GapModel::Tail {
 public:
  explicit Tail(const GapSketch& sketch) : sketch_(sketch) {
    total_ = static_cast<double>(sketch.count());
    const double quantile = std::max(kTailQuantile, 1 - kTailGaps / std::max(total_, 1.0));
    from_s_ = sketch.quantile(quantile).value_or(0);
    share_ = 1 - quantile;
    // At least the width of a few bins: equal gaps have no excess.
    scale_s_ = std::max(sketch.mean_excess(from_s_).value_or(0), 0.02 * from_s_);
  }

  [[nodiscard]] double survival(double age_s) const {
    const double beyond = std::max(age_s - from_s_, 0.0);
    const double exponential = share_ * std::exp(-beyond / scale_s_);
    const std::uint64_t recurring = sketch_.above(age_s / kRecurringMargin);
    if (recurring < 2) return exponential;
    return std::max(exponential, static_cast<double>(recurring) / total_);
  }

 private:
  const GapSketch& sketch_;
  double total_ = 0;
  double from_s_ = 0;
  double share_ = 0;
  double scale_s_ = 0;
};

double GapModel::survival(double age_s) const {
  if (sketch_.count() < options_.enough || !(age_s > 0)) return 1;
  return Tail(sketch_).survival(age_s);
}

double GapModel::posterior(double survival) const {
  return options_.prior / (options_.prior + (1 - options_.prior) * survival);
}

double GapModel::probability(double age_s) const {
  return posterior(survival(age_s));
}

double GapModel::soft_timeout_s(bool knows_long_gaps) const {
  if (sketch_.count() < options_.enough) {
    const double longest = sketch_.quantile(1).value_or(0);
    const bool has_few = knows_long_gaps && sketch_.count() >= options_.few;
    const double least = has_few ? options_.few_s : options_.default_s;
    return std::clamp(5 * longest, least, std::max(options_.cap_s, least));
  }
  const Tail tail(sketch_);
  const double cap = std::max(options_.cap_s, kRecurringMargin * sketch_.quantile(0.99).value_or(0));
  const bool is_learning =
      !knows_long_gaps && sketch_.total_s() < options_.learning_s && sketch_.above(options_.floor_s) < 2;
  const double from = is_learning ? std::max(options_.default_s, options_.floor_s) : options_.floor_s;
  for (double age = from; age < cap; age *= kSearchRatio)
    if (posterior(tail.survival(age)) >= 0.5) return age;
  return cap;
}

}  // namespace autopilot::jobs
