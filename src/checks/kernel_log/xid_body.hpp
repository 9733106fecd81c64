// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "checks/kernel_log/decoded_record.hpp"

namespace autopilot::checks {

// Reads what follows "<code>, " in an Xid line into `decoded`, whose code is set: pid, process, text, and
// what the text of certain codes says. Leaves out what is not there or not well-formed.
void read_xid_body(std::string_view body, DecodedRecord& decoded);

}  // namespace autopilot::checks
