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
#include "tree/tree_store.hpp"

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

// A lock on a file; released by the destructor.
class FileLock {
 public:
  FileLock() = default;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();
  // Takes the lock, and waits for it if `wait`. conflict, without `wait`: another process holds it.
  [[nodiscard]] static Result<FileLock> take(const std::string& path, bool wait);

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

// A machine tree on disk that is a simulation: beside the tree are .pristine.json (the machine without
// faults) and simulation.yaml (the faults, and the elapsed time). One program can play it while others add
// faults; the player writes the tree, the others only simulation.yaml.
class PlayedTree {
 public:
  // Creates the directory, which must be missing or empty, and writes the machine as of `elapsed`.
  [[nodiscard]] static Status create(const std::string& directory, const Simulation& simulation,
                                     Duration elapsed);
  // Takes the lock and reads the tree. A tree that was never simulated (a recording) becomes its own pristine
  // state.
  [[nodiscard]] static Result<PlayedTree> open(const std::string& directory);
  // The same for the player; the machine goes live. conflict: another program plays it.
  [[nodiscard]] static Result<PlayedTree> open_to_play(const std::string& directory);

  [[nodiscard]] Simulation& simulation() { return simulation_; }
  // The elapsed time; of a live machine by the real clock.
  [[nodiscard]] Duration elapsed() const;
  // Other programs can change simulation.yaml until take_over, which takes the lock again and reads added
  // faults, which start at `now` at the earliest. True: there were some.
  void let_go() { lock_ = FileLock(); }
  [[nodiscard]] Result<bool> take_over(Duration now);
  // Writes simulation.yaml, and the machine as of `elapsed` unless another program plays it.
  [[nodiscard]] Status write(Duration elapsed);

 private:
  PlayedTree(std::string directory, FileLock lock, Simulation simulation)
      : directory_(std::move(directory)),
        lock_(std::move(lock)),
        simulation_(std::move(simulation)),
        writer_(directory_) {}
  [[nodiscard]] Status save(bool is_written);

  std::string directory_;
  FileLock lock_;
  FileLock player_;
  bool is_played_by_other_ = false;
  Simulation simulation_;
  Duration elapsed_{0};  // time of the written tree
  std::string state_;    // text of simulation.yaml as last read or written
  TreeWriter writer_;
};

}  // namespace autopilot::simulator
