// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nccl/connection.hpp"

namespace autopilot::simulator::nccl {

// Begins a thread in which the ranks of one communicator meet: it waits until all are there, reduces what
// they send, and gives all of them the result. When one of them leaves, all are left. Strangers, who do not
// know the secret of the place, are sent away. The thread ends with the communicator, or with the process.
void start_root(Connection listener, const Place& place);

}  // namespace autopilot::simulator::nccl
