// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "workloads/compare/side.hpp"

namespace autopilot::workloads::compare {

enum class ClaimedStatistic : std::uint8_t { mean, median, p95, most, least };

// A number that a text states about one side.
struct Claim {
  std::string text;    // the sentence
  Source source;       // where it is stated
  std::string side;    // "A", "B"; empty: the text does not name one
  std::string metric;  // empty: not recognised
  ClaimedStatistic statistic = ClaimedStatistic::mean;
  double low = 0;  // equal for a single number
  double high = 0;
  std::string unit;                 // "%", "GB", ...
  std::optional<double> tolerance;  // relative; missing: 10 %, or 2 % for a size that does not change
};

enum class ClaimVerdict : std::uint8_t { holds, refuted, untested };

struct CheckedClaim {
  Claim claim;
  ClaimVerdict verdict = ClaimVerdict::untested;
  std::optional<double> measured;  // in the unit of the claim
  std::string explanation;         // what the data shows, and what the number may be instead
  std::vector<Source> sources;
};

// A list `claims` in YAML.
[[nodiscard]] Result<std::vector<Claim>> parse_claims(std::string_view text, const std::string& file);

// Sentences of a report in Markdown with a number in %, kB, MB, GB, GiB, TB: the metric and the side from the
// sentence, otherwise from the headings above it. Links, images, tables, comments and code are left out.
[[nodiscard]] std::vector<Claim> claims_in_markdown(std::string_view text, const std::string& file,
                                                    const Side& a, const Side& b);

[[nodiscard]] CheckedClaim check_claim(const Claim& claim, const Side& a, const Side& b);

// More claims are not read.
inline constexpr std::size_t kMaxClaims = 1000;

}  // namespace autopilot::workloads::compare
