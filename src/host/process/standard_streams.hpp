// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace autopilot::host {

// A file that is opened later must not get the number of a standard stream that the caller has closed: until
// then nothing is there to read, and writing fails. Call it first.
void keep_standard_streams_taken();

}  // namespace autopilot::host
