// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "host/host.hpp"

namespace autopilot::host {

// One fact of a machine that does not change while it runs: "kernel.release".
struct MachineFact {
  std::string key;
  std::string value;
  std::string source;  // a file of the kernel, or a library
};

// What the machine is made of and how it is set (the keys are those of docs/drift.md).
struct MachineFacts {
  std::vector<MachineFact> known;                           // each key once
  std::map<std::string, std::string, std::less<>> missing;  // key -> why it could not be read; `*`: any name
};

// Reads all facts. A part that this machine does not have has no fact; a part that could not be read is in
// `missing`. Blocks until the deadline at most, and where the kernel blocks.
[[nodiscard]] MachineFacts read_machine_facts(const Host& host, MonoTime deadline);

// The arguments of the kernel's command line by name, without names of disks, images and the machine. An
// argument without a value is "set"; the values of a repeated argument are joined with a blank.
[[nodiscard]] std::map<std::string, std::string> parse_kernel_arguments(std::string_view line);

// The value of "Name: value" in the text of /proc/driver/nvidia/gpus/<address>/information; empty: not there.
[[nodiscard]] std::string value_in_information(std::string_view text, std::string_view name);

}  // namespace autopilot::host
