// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "scenario/simulation.hpp"
#include "tree/tree_store.hpp"

namespace autopilot::simulator {

// A lock on a file; given back by the destructor.
class FileLock {
 public:
  FileLock() = default;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();
  // Waits for it. conflict with `wait` false: somebody else holds it.
  [[nodiscard]] static Result<FileLock> take(const std::string& path, bool wait);

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

// A machine tree on disk that is a simulation: beside the tree stand .pristine.json (the machine without
// faults) and simulation.yaml (the faults, and how far the time has gone). One program may play it while
// others add faults; whoever plays writes the tree, the others only simulation.yaml.
class PlayedTree {
 public:
  // Makes DIR, which must not exist or be empty, and writes the machine as it is at `elapsed`.
  [[nodiscard]] static Status create(const std::string& directory, const Simulation& simulation,
                                     Duration elapsed);
  // Takes the lock and reads. A tree that was never simulated (a recording) becomes its own pristine state.
  [[nodiscard]] static Result<PlayedTree> open(const std::string& directory);
  // The same for the one who plays it; the machine goes live. conflict: somebody plays it already.
  [[nodiscard]] static Result<PlayedTree> open_to_play(const std::string& directory);

  [[nodiscard]] Simulation& simulation() { return simulation_; }
  // How far the time has gone: of a live machine by the real clock.
  [[nodiscard]] Duration elapsed() const;
  // Others may change simulation.yaml until take_over, which takes the lock again, reads what they added and
  // lets it begin no earlier than `now`. True: there was something.
  void let_go() { lock_ = FileLock(); }
  [[nodiscard]] Result<bool> take_over(Duration now);
  // Writes simulation.yaml, and the machine as it is at `elapsed`, unless somebody else plays it and will.
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
  Duration elapsed_{0};  // at which the tree was written
  std::string state_;    // text of simulation.yaml as last read or written
  TreeWriter writer_;
};

}  // namespace autopilot::simulator
