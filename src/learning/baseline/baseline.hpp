// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "learning/baseline/distribution.hpp"
#include "learning/baseline/reference.hpp"

namespace autopilot::learning {

// Points of the stored distribution: its quantiles at 0, 1, ... 100 %. With 17 digits each about 2 KB.
inline constexpr std::size_t kSketchPoints = 101;

// A metric of a diagnostic on one kind of machine, and which of its values are worse.
struct MetricKey {
  std::string kind;  // kind_text
  std::string check;
  std::string metric;
  Worse worse = Worse::lower;
};

// A version is immutable: another distribution or threshold is a new version.
struct Baseline {
  MetricKey key;
  std::uint32_t version = 0;  // from 1 on
  std::uint32_t parent = 0;   // the version before; 0: none
  std::size_t nodes = 0;
  std::array<double, kSketchPoints> sketch{};  // ascending, above 0
  double alpha = 0.95;                         // least similarity (1 - shortfall) that passes
  double repeat_cv = 0;                        // variation of repeated values on one node
  WallTime created{};
};

// The distribution of a baseline. `malformed`: a sketch with values that are not finite, not above 0 or not
// ascending.
[[nodiscard]] Result<Distribution> reference_of(const Baseline& baseline);

// The next version, or nullopt if `parent` is of the same key and the difference to it is at most 1 %.
// `parent` can be null. `malformed`: as reference_of(*parent).
[[nodiscard]] Result<std::optional<Baseline>> next_version(const Baseline* parent, const MetricKey& key,
                                                           const Reference& reference, WallTime created);

// repeat: the shortfall is above the threshold by no more than the noise of the measurement. unknown: could
// not be compared.
enum class BaselineVerdict : std::uint8_t { pass, repeat, fail, unknown };

struct BaselineJudgement {
  BaselineVerdict verdict = BaselineVerdict::unknown;
  double shortfall = 0;
  double limit = 0;    // 1 - alpha
  std::string reason;  // of unknown
};

// A node is measured again at most as often before the verdict fail.
inline constexpr int kMostRepeats = 3;

// `values`: all of the node, of the first measurement and `repeats` repeats. The noise is three standard
// deviations of the mean of so many values: 3 * repeat_cv / sqrt(n).
[[nodiscard]] BaselineJudgement judge_node(const Baseline& baseline, std::span<const double> values,
                                           int repeats);

// Values of a node that served jobs without a fault.
struct ServingNode {
  std::string place;
  Duration served{};  // since its last fault
  std::vector<double> values;
};

struct Canary {
  std::size_t nodes = 0;             // that served kServedWell
  std::vector<std::string> flipped;  // of these: fail with the new version and not with its parent
  [[nodiscard]] bool is_accepted() const { return flipped.size() * 100 <= nodes; }  // at most 1 %
};

inline constexpr Duration kServedWell = std::chrono::days(7);

// `parent` can be null: then each failure is a flip. Without a node that served well, the version is
// accepted.
[[nodiscard]] Canary try_canary(const Baseline* parent, const Baseline& next,
                                std::span<const ServingNode> nodes);

}  // namespace autopilot::learning
