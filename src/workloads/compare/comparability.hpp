// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/compare/side.hpp"

namespace autopilot::workloads::compare {

enum class Comparability : std::uint8_t {
  comparable,
  unproven,        // nothing differs, and something that must be known is not
  not_comparable,  // something differs that changes the result by itself
};

enum class Agreement : std::uint8_t { same, different, unknown };

// One line of the checklist.
struct Condition {
  std::string name;  // "GPUs of the job"
  std::string a, b;  // as stated or measured; empty: not known
  Agreement agreement = Agreement::unknown;
  bool is_required = true;  // unknown makes the comparison unproven
  std::string reason;       // a sentence; empty if both sides are the same
};

struct ComparabilityVerdict {
  Comparability verdict = Comparability::unproven;
  std::vector<Condition> conditions;
  [[nodiscard]] std::vector<std::string> reasons() const;
};

[[nodiscard]] ComparabilityVerdict comparability_of(const Side& a, const Side& b);

// "not comparable"
[[nodiscard]] std::string_view words_of(Comparability verdict);

}  // namespace autopilot::workloads::compare
