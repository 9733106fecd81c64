// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "probes/gpu/sensors/sensors.hpp"

namespace autopilot::probes::gpu {

// Reads the sensors of some GPUs repeatedly, in its own thread.
class Sampler {
 public:
  static constexpr std::chrono::milliseconds kPeriod{100};

  // Called in the sampler's thread with the values of a GPU; `gpu` counts from 0.
  using Take = std::function<void(std::size_t gpu, const SensorValues& values)>;

  // Both references must stay valid until stop() returned true, or until the process ends.
  Sampler(const Sensors& sensors, const std::vector<std::string>& pci_addresses, Take take);
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;
  ~Sampler();

  // Ends the thread. False: it hangs in a call, and remains until the process ends.
  [[nodiscard]] bool stop();

 private:
  // Data of the thread, which can outlive the sampler.
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    bool stop = false;
    bool ended = false;
  };
  static void run(const std::shared_ptr<Shared>& shared, const Sensors& sensors,
                  const std::vector<std::string>& pci_addresses, const Take& take);

  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::thread thread_;
};

}  // namespace autopilot::probes::gpu
