// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "checks/check.hpp"
#include "core/result.hpp"
#include "golden/expectation_file.hpp"
#include "scenario/simulation.hpp"
#include "tree/tree_store.hpp"

namespace autopilot::golden {

// tests/golden/<check id>/<case>/
struct Case {
  std::string check;
  std::string name;
  std::string directory;
};

[[nodiscard]] std::vector<Case> find_cases(const std::string& golden_directory);

// Machines on disk. Cases differ little, so one directory serves all: only what changed from case to case is
// written.
class MachineBench {
 public:
  MachineBench();
  MachineBench(const MachineBench&) = delete;
  MachineBench& operator=(const MachineBench&) = delete;
  ~MachineBench();
  [[nodiscard]] const std::string& directory() const { return writer_.directory(); }
  [[nodiscard]] Status put(const simulator::Machine& machine) { return writer_.write(machine); }

 private:
  simulator::TreeWriter writer_;
};

// Its clocks, from `time` and `uptime`.
[[nodiscard]] Result<Instant> instant_of(const simulator::Machine& machine);
// Whether a call of its driver or a read of its files never returns.
[[nodiscard]] bool has_a_hang(const simulator::Machine& machine);
[[nodiscard]] std::vector<std::string> directories_in(const std::string& path);

// Result of a run of one case.
struct Look {
  Outcome outcome;
  std::string messages;  // of the findings, for a person
};

// Runs observe and judge of the check over the rounds of the case, and what follows from them.
[[nodiscard]] Result<Look> look_at(const Case& test_case, const Expectation& given, MachineBench& bench);

}  // namespace autopilot::golden
