// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "faults/fault.hpp"
#include "machine/machine.hpp"

namespace autopilot::simulator {

// A machine and the faults laid on it over time. What it looks like at a moment depends on nothing but that
// moment: a fault is never undone, the machine is made again without it.
class Simulation {
 public:
  static constexpr std::size_t kMaxFaults = 10'000;

  explicit Simulation(Machine pristine) : pristine_(std::move(pristine)) {}

  // See resolve_fault; exhausted beyond kMaxFaults.
  [[nodiscard]] Status add(const Fault& fault);
  // Ends every such fault that lasts at `elapsed`; not_found when there is none.
  [[nodiscard]] Status recover(std::string_view id, Duration elapsed);

  [[nodiscard]] Machine at(Duration elapsed) const;

  // From now on the clocks of the machine are the real ones: it is `now`, `elapsed` after the beginning.
  void go_live(Instant now, Duration elapsed);
  // How far the time of a live machine has gone; nothing for one that stands still.
  [[nodiscard]] std::optional<Duration> live_elapsed(MonoTime now) const;

  [[nodiscard]] const Machine& pristine() const { return pristine_; }
  [[nodiscard]] const std::vector<Fault>& faults() const { return faults_; }
  // When nothing more begins or ends.
  [[nodiscard]] Duration end() const;
  // True while something changes by itself between beginnings and ends.
  [[nodiscard]] bool is_moving(Duration elapsed) const;

 private:
  Machine pristine_;
  std::vector<Fault> faults_;  // resolved
};

// A machine, where it comes from, and when a golden case looks.
struct SimulationSource {
  Simulation simulation;
  std::vector<Duration> rounds;
  std::string title;
};

// `source` is a built-in machine, a scenario file, or a directory with a tree or a source.
[[nodiscard]] Result<SimulationSource> open_source(const std::string& source);

}  // namespace autopilot::simulator
