// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "api/v1.hpp"
#include "cli/open_machine.hpp"
#include "core/result.hpp"
#include "host/files/fd.hpp"

namespace autopilot::cli {

// Path of the driver library of simulated machines, beside this program.
[[nodiscard]] Result<std::string> simulated_library();
// Path of their CUDA library, beside this program.
[[nodiscard]] Result<std::string> simulated_cuda_library();

// The faults of the simulator as `autopilot-sim faults -o json` prints them, and its machines as
// `autopilot-sim machines` does. Errors: the program is not beside this one, or does not answer in time.
[[nodiscard]] Result<std::string> simulated_faults_json(Duration patience = std::chrono::seconds{60});
[[nodiscard]] Result<std::string> simulated_machines_list(Duration patience = std::chrono::seconds{60});

// A machine tree that autopilot-sim creates, in a private folder. The destructor removes it.
class Simulation {
 public:
  // `source`: a built-in machine, a scenario file or a tree.
  [[nodiscard]] static Result<std::unique_ptr<Simulation>> create(const std::string& source,
                                                                  Timeline timeline);
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;
  ~Simulation();

  [[nodiscard]] std::string directory() const { return folder_ + "/machine"; }
  // Starts the timeline. Calls `on_change` on another thread after each fault appears or disappears.
  void play(std::function<void()> on_change);
  [[nodiscard]] Status inject(const api::InjectRequest& request) const;

 private:
  Simulation(std::string program, std::string folder)
      : program_(std::move(program)), folder_(std::move(folder)) {}

  std::string program_;
  std::string folder_;
  host::Fd claim_;  // lock on folder_; the next simulation removes unlocked folders
  std::jthread player_;
};

}  // namespace autopilot::cli
