// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checks/check.hpp"
#include "checks/judgement.hpp"

namespace autopilot::checks {

// The results of the last diagnostic of that check (host/diagnostic_results/results.hpp). Each gets the time
// of this run, because it is the current knowledge, and the end of its diagnostic, if that has ended, as
// attribute `testedAt`. Errors as TestResults::last.
[[nodiscard]] Result<Observed> last_results(const host::Host& host, const Request& request,
                                            std::string_view check, std::string_view witness);

// Adds the time of each result, which is the end of its diagnostic, as attribute `testedAt`.
void note_tested(Observations& results);

// Description of a check that judges such results. Running it is cheap, because it only reads stored results.
// `domain` is its tag beside "active".
[[nodiscard]] CheckInfo active_check_info(std::string_view id, std::string title, std::string_view domain,
                                          std::string_view witness,
                                          Duration period = std::chrono::seconds{60});

// Expected form of such results: one word about the diagnostic as a whole, and values for each subject.
struct ResultForm {
  std::string_view outcome;                    // observation about the host
  std::span<const std::string_view> outcomes;  // its valid words; the first means that the diagnostic ended
  std::string_view nothing_to_test;  // the word for a machine without a subject to test; empty: no such word
  std::span<const std::string_view> found;  // each tested subject has at least one of these
  std::span<const std::string_view> words;  // valid values; empty: the values are numbers
};

// Adds a finding for each result that cannot be used: a value that could not be read, an unknown word, text
// instead of a number, a subject without any of `found`, and a diagnostic without a result for any subject.
// Such a node is not healthy.
void add_unusable(const JudgeInput& input, const ResultForm& form, Findings& findings);

// Shared by judges of measured values of GPUs and of links between them, as last_results returns them.

inline constexpr std::string_view kProbe = "probe";  // data source of the measurements
// About the host: "measured"; "in_use" with `by`, if a workload prevented the last diagnostic; the values of
// the one before it remain.
inline constexpr std::array<std::string_view, 2> kMeasuredOutcomes{"measured", "in_use"};

struct Measured {
  const Observation* result = nullptr;
  double value = 0;
};
// The numbers of that name in the last run, in order. add_unusable reports other values.
[[nodiscard]] std::vector<Measured> measured(const JudgeInput& input, std::string_view name);

// Value from earlier diagnostics of the same subject; nullopt if they are too few.
[[nodiscard]] std::optional<double> usual_of(const Observation& rate);

// Needs at least one number; for an even count the upper of the two middle ones.
[[nodiscard]] double median(std::vector<double> values);
// Median of the values that are like `one`, without it; nullopt if these, with it, are fewer than
// kFewestAlike.
[[nodiscard]] std::optional<double> median_of_others(const Measured& one, const std::vector<Measured>& all,
                                                     const std::function<bool(const Measured&)>& is_alike);

// Converts a limit that is a share of `whole` into a number of `unit`.
[[nodiscard]] Limit share_of(Limit share, double whole, std::string_view unit);

// Adds the time and the data source of the measurement to the evidence.
void add_source(Finding& finding, const Observation& result);

// A finding about wrong results of a GPU. The message is the GPU, then `what` ("got wrong words over its
// link"), then their number. The attributes `where` and `detail` name the place; evidence `failed` is
// "results".
[[nodiscard]] Finding make_wrong_finding(const JudgeInput& input, const Measured& wrong,
                                         std::string_view reason, std::string_view what);
// One such finding for each subject with a number above 0 under `name`.
void add_wrong(const JudgeInput& input, std::string_view name, std::string_view reason, std::string_view what,
               Findings& findings);

// A measured value below its limit.
struct TooLow {
  std::string_view word;  // its name in messages and in the evidence `failed`: "daxpy"
  std::string_view unit;  // in messages: "GB/s"
  Measured measured;
  Limit least;
};
// "<subject_text> is slow: daxpy 640 GB/s, at least 2010 <why>; ..."; needs at least one value. Evidence has
// value and limit of the first one, and `failed` with all names: "daxpy,dgemm".
[[nodiscard]] Finding make_slow_finding(const JudgeInput& input, const Subject& subject,
                                        std::string_view reason, const std::string& subject_text,
                                        const std::vector<TooLow>& too_low, const std::string& why);

// A rate that a diagnostic measures for each GPU. It is compared with a share of the model's nominal rate,
// and with a share of the median of the GPUs of the same model on this machine. If the catalog lacks the
// nominal rate, it is compared with the siblings and with a share of earlier measurements of the same card. A
// GPU of unknown model is not judged.
struct Rate {
  std::string_view name;  // name of the observation
  std::string_view word;  // as in TooLow
  std::string_view unit;
  std::optional<double> (*peak)(const catalog::GpuPeaks& peaks) = nullptr;
  std::string_view peak_share{};  // ids of thresholds
  std::string_view sibling_share{};
  std::string_view own_share{};
};

// Reasons for a rate below the nominal rate, below its siblings, and below its own earlier rate, in this
// order.
struct RateReasons {
  std::string_view low;
  std::string_view differs;
  std::string_view declined;
};

// Nominal GB/s of all NVLinks of one GPU in one direction, if all GPUs with a value under `name` are of one
// model that the catalog knows.
[[nodiscard]] std::optional<double> nvlink_peak(const JudgeInput& input, std::string_view name);

// Nominal GB/s of the GPU's own memory.
[[nodiscard]] std::optional<double> memory_peak(const catalog::GpuPeaks& peaks);
// Nominal TFLOP/s of matrix products in double precision, on tensor cores that support it, and in bf16.
[[nodiscard]] std::optional<double> fp64_peak(const catalog::GpuPeaks& peaks);
[[nodiscard]] std::optional<double> bf16_peak(const catalog::GpuPeaks& peaks);

// Adds at most one finding for each GPU, with all rates that are too low for the first applicable reason.
void judge_rates(const JudgeInput& input, std::span<const Rate> rates, const RateReasons& reasons,
                 Findings& findings);

}  // namespace autopilot::checks
