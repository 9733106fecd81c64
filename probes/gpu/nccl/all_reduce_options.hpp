// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "probes/gpu/driver/vendor.hpp"
#include "probes/gpu/nccl/nccl_abi.h"
#include "probes/gpu/sensors/sensors.hpp"

namespace autopilot::probes::gpu {

inline constexpr double kMostSeconds = 3600;  // that anybody may ask for

struct AllReduceOptions {
  std::optional<nccl::UniqueId> id;  // of the others; where there is none, we make it and tell it
  int ranks = 0;                     // of all processes together
  int first = 0;                     // rank of this process
  std::optional<std::string> bind;   // a numeric address of this machine
  std::vector<std::string> gpus;     // as said; all where it is empty
  std::optional<int> count;          // the first so many of them, and no fewer; all where it is not said
  double seconds = 3;                // that count
  int megabytes = 256;
  double patience_seconds = 30;  // for the others, and for one call
  bool beside_others = false;    // on GPUs that others use as well
  bool require_idle = false;     // not on GPUs of which nobody tells whether others use them
  Vendor vendor = Vendor::nvidia;
  std::optional<std::string> library;       // of the driver; its usual names where it is not said
  std::optional<std::string> nccl_library;  // likewise
  std::string sensor_library = kSensorLibrary;
  std::string root;  // where the files of this machine are, by which AMD's driver tells who uses a GPU
};

}  // namespace autopilot::probes::gpu
