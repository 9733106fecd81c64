// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/snapshot.hpp"

namespace autopilot::compat::ibm_autopilot {

// The name and the help of the only metric family that IBM Autopilot exports.
inline constexpr std::string_view kHealthChecks = "autopilot_health_checks";
inline constexpr std::string_view kHealthChecksHelp =
    "Summary of the health checks measurements on compute nodes. Gauge Vector version";

// One series of it; its other labels are those of the node.
//   health           device_id      value                           of our check
//   remapped         GPU            1: gpu.row_remap finds a fault   gpu.row_remap
//   power-slowdown   GPU            1: slowed down by its hardware   gpu.throttle
//   dcgm             -              1: the last test failed          gpu.diagnosis, gpu.dcgm
//   pvc              -              1: a class gives no volume       storage.pvc
//   pciebw           GPU            GB/s from the host               gpu.pcie_bandwidth
//   gpumem           "0"            1: a GPU failed the test         gpu.compute
//   ping             node asked     1: an address did not answer     network.ping
// A GPU is the driver's number of it.
struct HealthGauge {
  std::string health;
  std::string device_id;
  double value = 0;
};

// Each series has the value of the last run that could measure it; a run that could not, for one GPU or all,
// changes nothing. Only nodes are removed: the series are of the nodes tested last and of nodes that did not
// answer within the last hour; with more than 64 other nodes only of the latter. One owner.
class HealthGauges {
 public:
  void note(const NodeSnapshot& snapshot);
  // Ordered by health and device.
  [[nodiscard]] std::vector<HealthGauge> all() const;
  // The product name of the first GPU that has one; "N/A" before.
  [[nodiscard]] const std::string& gpu_model() const { return gpu_model_; }

 private:
  void set(const std::string& health, const Subject& of, double value);
  void note_measured(const NodeSnapshot& snapshot);
  void note_peers(const NodeSnapshot& snapshot);

  std::map<std::string, std::map<Subject, double>> values_;  // by health; with the last known index
  std::map<std::string, WallTime> silent_at_;                // by node: time of the last missing answer
  std::string gpu_model_ = "N/A";
};

// The processor name as in the label: without its first opening and first closing bracket.
[[nodiscard]] std::string cpu_model(std::string name);

}  // namespace autopilot::compat::ibm_autopilot
