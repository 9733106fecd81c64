// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace autopilot::host {

// For a process that lives for months: its code and constants are mapped no longer, and what is still needed
// is mapped again at its next use, from the page cache. What only the start needed stays out. Data that a
// program may write, or that was relocated, is left as it is. Takes a fraction of a millisecond. From any
// thread.
void unmap_own_code();

}  // namespace autopilot::host
