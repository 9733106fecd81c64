// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "agent/deep_test_link.hpp"
#include "diagnostics/operations/pass_book.hpp"
#include "host/diagnostic_results/results.hpp"
#include "runtime/runtime.hpp"

namespace autopilot::agent {

// Connects deep diagnostics to the verdict of the runtime, to its check gpu.diagnosis through the board, and
// to the pass records. poll_soon: the runtime has work. On the loop's thread.
[[nodiscard]] DeepTestOutlets deep_test_outlets(runtime::Runtime& runtime, diagnostics::PassBook& passes,
                                                std::shared_ptr<host::TestBoard> board,
                                                std::function<void()> poll_soon);

}  // namespace autopilot::agent
