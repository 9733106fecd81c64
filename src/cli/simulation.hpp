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

// The driver library of simulated machines, beside this program.
[[nodiscard]] Result<std::string> simulated_library();
// The same of CUDA.
[[nodiscard]] Result<std::string> simulated_cuda_library();

// A machine tree made by the program autopilot-sim, in a folder of its own that goes with this object.
class Simulation {
 public:
  // `source`: a built-in machine, a scenario file or a tree.
  [[nodiscard]] static Result<std::unique_ptr<Simulation>> create(const std::string& source,
                                                                  Timeline timeline);
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;
  ~Simulation();

  [[nodiscard]] std::string directory() const { return folder_ + "/machine"; }
  // Lets its time run; `on_change` is called on another thread after each fault that came or went.
  void play(std::function<void()> on_change);
  [[nodiscard]] Status inject(const api::InjectRequest& request) const;

 private:
  Simulation(std::string program, std::string folder)
      : program_(std::move(program)), folder_(std::move(folder)) {}

  std::string program_;
  std::string folder_;
  host::Fd claim_;  // on folder_: one that nobody claims is removed by the next simulation
  std::jthread player_;
};

}  // namespace autopilot::cli
