// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "scenario/simulation.hpp"
#include "tree/tree_store.hpp"

namespace autopilot::simulator {

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
