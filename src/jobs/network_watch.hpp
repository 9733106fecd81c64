// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "jobs/detectors/network.hpp"
#include "jobs/job_context.hpp"

namespace autopilot::jobs {

// The ports of one job's nodes, once a minute.
class NetworkWatch {
 public:
  // Nodes changed: all ports are new.
  void start(const Membership& members, const Fleet& fleet);
  // The minute that ends at `end`.
  [[nodiscard]] std::vector<NetworkFinding> minute(const JobContext& job, WallTime end);
  // After the last minute.
  [[nodiscard]] std::span<const NoisyPort> noisy() const;

 private:
  struct Place {
    std::uint32_t node = 0;
    std::size_t row = 0;
  };
  [[nodiscard]] static PortMinute read(const JobContext& job, const Place& place, WallTime end);
  [[nodiscard]] static std::vector<NoisyPort> noise_elsewhere(const JobContext& job, WallTime end);

  std::optional<NetworkDetector> detector_;
  std::vector<Place> places_;
  std::vector<PortMinute> minutes_;
};

}  // namespace autopilot::jobs
