// SPDX-License-Identifier: Apache-2.0
#include "host/diagnostic_results/tree_results.hpp"

#include <algorithm>

namespace autopilot::host {

Result<Observations> TreeTestResults::last(std::string_view check) const {
  const auto tree = TRY(tree_.read());
  const auto found = tree->tests.find(check);
  return found == tree->tests.end() ? board().last(check) : found->second;
}

std::vector<std::string> TreeTestResults::checks() const {
  std::vector<std::string> ids = board().checks();
  if (const auto tree = tree_.read())
    for (const auto& [id, found] : (*tree)->tests)
      if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
  return ids;
}

}  // namespace autopilot::host
