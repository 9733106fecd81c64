// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "probes/gpu/driver/driver.hpp"
#include "probes/gpu/nccl/nccl_abi.h"
#include "probes/gpu/sensors/sensors.hpp"

namespace autopilot::probes::gpu {

inline constexpr double kMostSeconds = 3600;  // limit of --seconds

struct AllReduceOptions {
  std::optional<nccl::UniqueId> id;  // of the first process; not set: this process creates and prints it
  int ranks = 0;                     // of all processes together
  int first = 0;                     // rank of this process
  std::optional<std::string> bind;   // a numeric address of this machine
  std::vector<std::string> gpus;     // as given; empty: all GPUs
  std::optional<int> count;          // use exactly the first `count` of them; not set: all
  double seconds = 3;                // measured time
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

// A numeric IPv4 or IPv6 address, never a host name.
[[nodiscard]] bool is_address(const std::string& text);

// The interface of this machine with the address. Errc::not_found: none.
[[nodiscard]] Result<std::string> interface_with(const std::string& address);

// The value of the variable; nullopt if it is not set. Removes the variable, also from the environment that
// the kernel shows for this process. Call it while there is one thread.
[[nodiscard]] std::optional<std::string> take_variable(const char* name);

// Sets NCCL's variables for its network interface and its output; variables that are set stay unchanged. Call
// it before NCCL is opened, and while there is one thread. Errc::not_found: `bind` is not an address of this
// machine.
[[nodiscard]] Status prepare_environment(const std::optional<std::string>& bind);

// nccl-serve and nccl-measure: writes the lines and returns the exit code of the program. Ends even if a call
// hangs: its limits are the patience, and the agreed time plus ten seconds.
[[nodiscard]] int run_all_reduce(const AllReduceOptions& options);

}  // namespace autopilot::probes::gpu
