// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "agent/deep_test_link.hpp"
#include "diagnostics/operations/pass_book.hpp"
#include "host/diagnostic_results/results.hpp"
#include "runtime/runtime.hpp"

namespace autopilot::agent {

// What deep tests tell, to the runtime of the machine: its verdict, its check gpu.diagnosis by way of the
// board; and to the book of what its GPUs have passed. poll_soon: the runtime has something to do. On the
// loop's thread.
[[nodiscard]] DeepTestOutlets deep_test_outlets(runtime::Runtime& runtime, diagnostics::PassBook& passes,
                                                std::shared_ptr<host::TestBoard> board,
                                                std::function<void()> poll_soon);

}  // namespace autopilot::agent
