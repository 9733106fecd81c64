// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nccl/connection.hpp"

namespace autopilot::simulator::nccl {

// Starts the root thread of one communicator: it waits until all ranks have joined, reduces their data, and
// sends the result to all. If one rank leaves, all are disconnected. Clients without the secret of the place
// are refused. The thread ends with the communicator, or with the process.
void start_root(Connection listener, const Place& place);

}  // namespace autopilot::simulator::nccl
