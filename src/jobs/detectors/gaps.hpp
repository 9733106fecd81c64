// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

// How long a job may be without progress: time-outs from its own gaps between two signs of progress.
namespace autopilot::jobs {

// Quantiles of durations, accurate to 1 %, for durations of 0.1 s to 100,000 s; shorter and longer ones count
// as the nearest limit. At most kMaxBins bins, whatever is added. Merging two sketches equals adding all
// values to one.
class GapSketch {
 public:
  static constexpr std::size_t kMaxBins = 699;

  // A duration that is not finite or not above 0 is ignored.
  void add(double gap_s);
  void merge(const GapSketch& other);

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::size_t bins() const { return bins_.size(); }
  // The duration that a share `q` of 0 to 1 does not exceed; nullopt if nothing was added.
  [[nodiscard]] std::optional<double> quantile(double q) const;
  // Sum of all durations.
  [[nodiscard]] double total_s() const;
  // Number of durations above `gap_s`.
  [[nodiscard]] std::uint64_t above(double gap_s) const;
  // Mean by which durations exceed `gap_s`, without the longest one; nullopt if fewer than two do.
  [[nodiscard]] std::optional<double> mean_excess(double gap_s) const;

 private:
  struct Bin {
    std::uint16_t index = 0;
    std::uint32_t count = 0;
  };
  void add(std::uint16_t index, std::uint64_t count);

  std::vector<Bin> bins_;  // ordered by index
  std::uint64_t count_ = 0;
};

struct GapOptions {
  double prior = 1e-5;      // of a hang, for one gap
  std::size_t enough = 30;  // gaps until the sketch is used
  double default_s = 300;   // time-out until then
  // Gaps until a job whose long gaps show has a time-out of few_s: twice as many as the steps that NVRx takes
  // to learn 5 times the longest gap (reference 1.1), and twice the floor.
  std::size_t few = 10;
  double few_s = 120;
  double learning_s = 7200;  // time in which a job without known phases shows its recurring long gaps
  double floor_s = 60;
  double cap_s = 600;
};

// Gaps of one job in one phase. Add a gap when progress comes after it, except after a confirmed hang, and
// except if StallStatus::is_gap_explained: a gap that other signs explain needs no time-out.
class GapModel {
 public:
  explicit GapModel(GapOptions options = {}) : options_(options) {}

  void add(double gap_s) { sketch_.add(gap_s); }
  void merge(const GapModel& other) { sketch_.merge(other.sketch_); }
  [[nodiscard]] const GapSketch& sketch() const { return sketch_; }

  // Probability that a gap without a hang is longer than `age_s`. 1 while too few gaps are known. A long gap
  // that occurred at least twice, such as a checkpoint, stays probable up to 1.5 times its length.
  [[nodiscard]] double survival(double age_s) const;
  // Probability that a job without progress for `age_s` hangs.
  [[nodiscard]] double probability(double age_s) const;
  // The shortest time after which a hang is at least as probable as not; floor_s to cap_s, or to 1.5 times
  // the 99th percentile of the gaps, if that is longer. While too few gaps are known: default_s, or few_s
  // after some gaps if `knows_long_gaps`; or 5 times the longest gap up to cap_s, if that is longer. At least
  // default_s while the gaps cover less than learning_s and at most one is longer than floor_s, unless
  // `knows_long_gaps`: the job reports its phases, its storage traffic or the bytes of its processes show
  // them, or its GPUs wait as in no healthy gap.
  [[nodiscard]] double soft_timeout_s(bool knows_long_gaps = false) const;

 private:
  // survival(), with what does not depend on the age computed once.
  class Tail;
  [[nodiscard]] double posterior(double survival) const;

  GapOptions options_;
  GapSketch sketch_;
};

}  // namespace autopilot::jobs
