// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <thread>

#include "core/observation.hpp"
#include "diagnostics/child/child_line.hpp"

// What the helper of an active test that runs a program of its own says on standard output. Where nobody
// reads it any more, the test has no sense: the process group is killed.
namespace autopilot::diagnostics {

// The helper leads a group, which whoever ends it ends as a whole: the program that tests gets the same
// signal, and has the time to stop what it began.
void lead_group_of_test();

void tell(const ChildProgress& progress);
void tell(const Observations& observations);

// Says again and again that it still goes on, until the thread is stopped: that is how the end of a reader is
// noticed.
[[nodiscard]] std::jthread begin_telling(const std::string& what);

}  // namespace autopilot::diagnostics
