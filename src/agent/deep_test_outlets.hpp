// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "agent/deep_test_link.hpp"
#include "host/tests/results.hpp"
#include "runtime/runtime.hpp"

namespace autopilot::agent {

// What deep tests tell, to the runtime of the machine: its verdict, its check gpu.diagnosis by way of the
// board, its journal. poll_soon: the runtime has something to do. On the loop's thread.
[[nodiscard]] DeepTestOutlets deep_test_outlets(runtime::Runtime& runtime,
                                                std::shared_ptr<host::TestBoard> board,
                                                std::function<void()> poll_soon);

}  // namespace autopilot::agent
