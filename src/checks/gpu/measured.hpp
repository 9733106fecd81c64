// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checks/check.hpp"
#include "checks/judgement.hpp"

// What judges share of what a test measured of GPUs and of the links between them, as last_results gives it.
namespace autopilot::checks {

inline constexpr std::string_view kProbe = "probe";  // who measured
// Of the host: "measured"; "in_use" with `by`, where somebody's work kept the last test from running, beside
// what the test before it measured.
inline constexpr std::array<std::string_view, 2> kMeasuredOutcomes{"measured", "in_use"};

struct Measured {
  const Observation* said = nullptr;
  double value = 0;
};
// Of that name in the last round, in its order. What is no number is left to add_unusable.
[[nodiscard]] std::vector<Measured> measured(const JudgeInput& input, std::string_view name);

// What earlier tests measured of the same subject. Nothing: they were too few.
[[nodiscard]] std::optional<double> usual_of(const Observation& rate);

// Of at least one number; the upper one of two in the middle.
[[nodiscard]] double median(std::vector<double> values);
// Of those that are like `one`, without it. Nothing where these are, with it, fewer than kFewestAlike.
[[nodiscard]] std::optional<double> median_of_others(const Measured& one, const std::vector<Measured>& all,
                                                     const std::function<bool(const Measured&)>& is_alike);

// A limit that is a share, as a number of `unit`.
[[nodiscard]] Limit share_of(Limit share, double whole, std::string_view unit);

// A finding about what was measured has as evidence besides: when, and by whom.
void add_source(Finding& finding, const Observation& said);

// A GPU so often had a result that differed from the only right one. `what` stands between its name and that
// number: "got wrong words over its link". Where and how is told as the test tells it, in its attributes
// `where` and `detail`; its `failed` is "results".
[[nodiscard]] Finding make_wrong_finding(const JudgeInput& input, const Measured& wrong,
                                         std::string_view reason, std::string_view what);
// One such finding of each subject with a number above 0 under `name`.
void add_wrong(const JudgeInput& input, std::string_view name, std::string_view reason, std::string_view what,
               Findings& findings);

// What was measured, and is less than it should be.
struct TooLow {
  std::string_view word;  // for it in messages, and in the evidence `failed`: "daxpy"
  std::string_view unit;  // in messages: "GB/s"
  Measured measured;
  Limit least;
};
// "<who> is slow: daxpy 640 GB/s, at least 2010 <why>; ..." of at least one. Value and limit in its evidence
// are of the first, and `failed` has the words of all: "daxpy,dgemm".
[[nodiscard]] Finding make_slow_finding(const JudgeInput& input, const Subject& subject,
                                        std::string_view reason, const std::string& who,
                                        const std::vector<TooLow>& too_low, const std::string& why);

// A rate that a test measures of each GPU, and what it is compared with: a share of what the vendor promises
// of the model, and a share of the median of the GPUs of that model here. Where the catalog knows no promise,
// with these and with a share of what earlier tests measured of the same card; a GPU whose model nobody told,
// with nothing.
struct Rate {
  std::string_view name;  // of the observation
  std::string_view word;  // as of TooLow
  std::string_view unit;
  std::optional<double> (*peak)(const catalog::GpuPeaks& peaks) = nullptr;
  std::string_view peak_share{};  // ids of thresholds
  std::string_view sibling_share{};
  std::string_view own_share{};
};

// Why a rate is too low: for the share of the promise, of the siblings' and of the card's own, in this order.
struct RateReasons {
  std::string_view low;
  std::string_view differs;
  std::string_view declined;
};

// GB/s of the NVLinks of one GPU in one direction, where all GPUs of which something is measured under `name`
// are of one model that the catalog knows.
[[nodiscard]] std::optional<double> nvlink_peak(const JudgeInput& input, std::string_view name);

// GB/s of its own memory.
[[nodiscard]] std::optional<double> memory_peak(const catalog::GpuPeaks& peaks);

// At most one finding of each GPU, about all of its rates that are too low for the first of these reasons.
void judge_rates(const JudgeInput& input, std::span<const Rate> rates, const RateReasons& reasons,
                 Findings& findings);

}  // namespace autopilot::checks
