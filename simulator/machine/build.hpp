// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "machine/description.hpp"
#include "machine/machine.hpp"

namespace autopilot::simulator {

// The complete tree of a described machine. Equal descriptions give equal trees.
[[nodiscard]] Machine build_machine(const Description& description);

// The parts of build_machine in other files, in the required order.
void build_host_files(const Description& description, Machine& machine);
void build_gpus(const Description& description, Machine& machine);
void build_amd_gpus(const Description& description, Machine& machine);
void build_infiniband(const Description& description, Machine& machine);
void build_ethernet(const Description& description, Machine& machine);
void build_modules(const Description& description, Machine& machine);
void build_nvme(const Description& description, Machine& machine);
void build_raid(const Description& description, Machine& machine);
void build_mounts(const Description& description, Machine& machine);
void build_boot_log(const Description& description, Machine& machine);

// A UUID that depends only on the text.
[[nodiscard]] std::string uuid_of(std::string_view text);
// `digits` hexadecimal digits that depend only on the text.
[[nodiscard]] std::string hex_of(std::string_view text, std::size_t digits);
// Files of one network interface; `device` is its directory in /sys/devices.
struct InterfaceFiles {
  std::string name;
  std::string directory;
  int type = 1;  // ARPHRD_*: 1 Ethernet, 32 InfiniBand, 772 loopback
  int megabits = 0;
  int mtu = 1500;
  int number = 1;
  bool is_up = true;
};
void write_interface(const InterfaceFiles& interface, Machine& machine);

}  // namespace autopilot::simulator
