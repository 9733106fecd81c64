// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "probes/gpu/driver/vendor.hpp"
#include "probes/gpu/nccl/nccl_abi.h"
#include "probes/gpu/sensors/sensors.hpp"

namespace autopilot::probes::gpu {

inline constexpr double kMostSeconds = 3600;  // limit of --seconds

struct AllReduceOptions {
  std::optional<nccl::UniqueId>
      id;         // from the first process; not set: this process creates the id and prints it
  int ranks = 0;  // of all processes together
  int first = 0;  // rank of this process
  std::optional<std::string> bind;  // a numeric address of this machine
  std::vector<std::string> gpus;    // as given; empty: all GPUs
  std::optional<int> count;         // use exactly the first `count` of them; not set: all
  double seconds = 3;               // measured time
  int megabytes = 256;
  double patience_seconds = 30;  // for other ranks to join, and for one call
  bool beside_others = false;    // also on GPUs in use
  bool require_idle = false;     // refuse GPUs whose users are unknown
  Vendor vendor = Vendor::nvidia;
  std::optional<std::string> library;       // of the driver; not set: its usual names
  std::optional<std::string> nccl_library;  // of NCCL; not set: its usual name
  std::string sensor_library = kSensorLibrary;
  std::string root;  // root of /sys/class/kfd, where AMD's driver lists the users of a GPU
};

}  // namespace autopilot::probes::gpu
