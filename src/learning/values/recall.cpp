// SPDX-License-Identifier: Apache-2.0
#include "learning/values/recall.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace autopilot::learning {

std::vector<Recall> recall_matrix(std::span<const RecallPrior> priors, std::span<const RecallCase> cases) {
  std::map<std::pair<std::string, std::string>, Recall> matrix;
  for (const RecallPrior& prior : priors)
    matrix[{prior.check, prior.fault_class}].recall = std::clamp(prior.recall, 0.0, 1.0);
  for (const RecallCase& one : cases)
    for (const std::string& check : one.ran) {
      Recall& cell = matrix[{check, one.fault_class}];
      ++cell.ran;
      if (std::ranges::find(one.found, check) != one.found.end()) ++cell.found;
    }
  std::vector<Recall> result;
  for (auto& [key, cell] : matrix) {
    cell.check = key.first;
    cell.fault_class = key.second;
    cell.recall = (cell.recall * kPriorCases + static_cast<double>(cell.found)) /
                  (kPriorCases + static_cast<double>(cell.ran));
    result.push_back(std::move(cell));
  }
  return result;
}

double recall_of(std::span<const Recall> matrix, std::string_view check, std::string_view fault_class) {
  const auto found = std::ranges::find_if(
      matrix, [&](const Recall& cell) { return cell.check == check && cell.fault_class == fault_class; });
  return found == matrix.end() ? 0 : found->recall;
}

}  // namespace autopilot::learning
