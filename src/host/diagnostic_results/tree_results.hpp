// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "host/diagnostic_results/results.hpp"
#include "host/machine_tree/machine_tree.hpp"

namespace autopilot::host {

// The test results in machine.yaml; for a test that the file does not contain, those of the board: an agent
// may test on behalf of a simulated machine.
class TreeTestResults final : public TestResults {
 public:
  // board: empty where no process runs tests.
  TreeTestResults(const MachineTreeFile& tree, std::shared_ptr<const TestResults> board)
      : tree_(tree), board_(std::move(board)) {}
  // An error of machine.yaml as well.
  [[nodiscard]] Result<Observations> last(std::string_view check) const override;
  [[nodiscard]] std::vector<std::string> checks() const override;

 private:
  [[nodiscard]] const TestResults& board() const { return board_ ? *board_ : none(); }

  const MachineTreeFile& tree_;
  std::shared_ptr<const TestResults> board_;
};

}  // namespace autopilot::host
