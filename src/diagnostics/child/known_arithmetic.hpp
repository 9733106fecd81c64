// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/observation.hpp"
#include "core/result.hpp"
#include "diagnostics/child/child_line.hpp"

namespace autopilot::diagnostics {

// What every processor must compute; found by the compiler, not by the machine under test.
[[nodiscard]] std::uint64_t self_test_answer();

struct SelfTest {
  Duration duration = std::chrono::seconds{5};  // shared by all CPUs; each computes at least once
  std::uint64_t expected = self_test_answer();
};

// Known integer and floating-point arithmetic on each CPU this thread may use, one after the other; binds the
// thread to them. Observations of the host: self_test.cpus, .cpus_refused (could not be bound to), .blocks,
// .mismatches (counts), .duration (seconds), and .wrong_cpus ("3,7") where a block had another answer.
[[nodiscard]] Result<Observations> test_cpus(const SelfTest& test,
                                             const std::function<void(const ChildProgress&)>& on_progress);

// `autopilot helper self_test [--seconds N]`: test_cpus with its words on standard output. Gives the exit
// code.
[[nodiscard]] int run_self_test(const std::vector<std::string>& arguments);

}  // namespace autopilot::diagnostics
