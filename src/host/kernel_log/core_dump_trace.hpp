// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace autopilot::host {

// Where a program crashed, by the stack in the message of systemd-coredump.
struct CrashPlace {
  std::string library;   // "libnccl.so.2"; empty: the message has no stack
  std::string function;  // empty: without a name
};

// The first frame that is not of the C library or the loader, which only end the program. Pure.
[[nodiscard]] CrashPlace crash_place(std::string_view message);

}  // namespace autopilot::host
