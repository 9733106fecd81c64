// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace autopilot::learning {

// A confirmed fault and the checks that ran while it was there.
struct RecallCase {
  std::string fault_class;  // "gpu", "nic", "cable" ...
  std::vector<std::string> ran;
  std::vector<std::string> found;  // of these
};

struct RecallPrior {
  std::string check;
  std::string fault_class;
  double recall = 0;  // 0..1
};

// Probability that a check finds a fault of a class.
struct Recall {
  std::string check;
  std::string fault_class;
  double recall = 0;
  std::size_t ran = 0, found = 0;
};

// Weight of a prior, in cases.
inline constexpr double kPriorCases = 4;

// (prior * kPriorCases + found) / (kPriorCases + ran) for each prior and each pair that occurs in the cases,
// whose prior is 0 if none is given. Ordered by check and class; the order of the input has no influence.
[[nodiscard]] std::vector<Recall> recall_matrix(std::span<const RecallPrior> priors,
                                                std::span<const RecallCase> cases);

// 0 if the matrix does not have the pair.
[[nodiscard]] double recall_of(std::span<const Recall> matrix, std::string_view check,
                               std::string_view fault_class);

}  // namespace autopilot::learning
