// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/health.hpp"
#include "core/result.hpp"
#include "faults/fault.hpp"
#include "machine/machine.hpp"

namespace autopilot::simulator {

// scenario.yaml (docs/machine-tree.md).
struct Scenario {
  std::string title;
  std::string machine;  // a built-in machine or a directory; empty in a tree's own scenario
  std::vector<Fault> timeline;
  Verdict expected = Verdict::none;
};

// malformed: every problem with file and line. Subjects are validated later against a machine.
[[nodiscard]] Result<Scenario> parse_scenario(std::string_view text, const std::string& file);

// A machine and its faults over time. The state at a moment depends only on that moment: a fault is never
// undone; the machine is built again without it.
class Simulation {
 public:
  static constexpr std::size_t kMaxFaults = 10'000;

  explicit Simulation(Machine pristine) : pristine_(std::move(pristine)) {}

  // See resolve_fault; exhausted: more than kMaxFaults.
  [[nodiscard]] Status add(const Fault& fault);
  // Ends all faults of that id that are active at `elapsed`; not_found if there is none.
  [[nodiscard]] Status recover(std::string_view id, Duration elapsed);

  [[nodiscard]] Machine at(Duration elapsed) const;

  // Switches to the real clocks: it is `now`, `elapsed` after the start.
  void go_live(Instant now, Duration elapsed);
  // The elapsed time of a live machine; nullopt if its clocks do not run.
  [[nodiscard]] std::optional<Duration> live_elapsed(MonoTime now) const;

  [[nodiscard]] const Machine& pristine() const { return pristine_; }
  [[nodiscard]] const std::vector<Fault>& faults() const { return faults_; }
  // Time after which no fault starts or ends.
  [[nodiscard]] Duration end() const;
  // True while a value changes continuously.
  [[nodiscard]] bool is_moving(Duration elapsed) const;

 private:
  Machine pristine_;
  std::vector<Fault> faults_;  // resolved
};

// A machine, its source, and the run times of a golden case.
struct SimulationSource {
  Simulation simulation;
  std::vector<Duration> rounds;
  std::string title;
};

// `source` is a built-in machine, a scenario file, or a directory with a tree or a source.
[[nodiscard]] Result<SimulationSource> open_source(const std::string& source);

}  // namespace autopilot::simulator
