// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "host/files/files.hpp"
#include "host/process/own_process.hpp"

namespace autopilot::host {

// A group of a process.
struct OwnGroup {
  std::uint32_t id = 0;
  std::string name;  // of this machine's own list of groups; empty: not listed there
};

// What the kernel permits this process.
struct OwnRights {
  std::uint32_t uid = 0;  // effective
  std::uint32_t gid = 0;
  std::vector<OwnGroup> groups;
  Capabilities effective = kNoCapabilities;
  Capabilities bounding = kNoCapabilities;  // what programs that it starts can have at most

  [[nodiscard]] bool is_root() const { return uid == 0; }
};

// The text of /proc/<pid>/status, without names of groups. malformed: a line is missing or is not a number.
[[nodiscard]] Result<OwnRights> parse_rights(std::string_view status);
// Of this process. Names of groups from /etc/group; directory services are not asked.
[[nodiscard]] Result<OwnRights> read_own_rights(const Files& files);

// The bit of a capability: "CAP_SYSLOG". Empty: an unknown name.
[[nodiscard]] std::optional<Capabilities> capability_named(std::string_view name);
// "CAP_SYSLOG, CAP_SYS_PTRACE"; capabilities without a known name by number; "none".
[[nodiscard]] std::string names_of_capabilities(Capabilities capabilities);
// Whether `capabilities` has all that the kernel of the build knows.
[[nodiscard]] bool has_every_capability(Capabilities capabilities);

// Namespaces of the machine that this process shares.
struct OwnNamespaces {
  bool user = true;
  bool pid = true;
  bool is_container = false;  // a container runtime left its mark
};
[[nodiscard]] OwnNamespaces read_own_namespaces(const Files& files);

// Limits of this process.
struct OwnLimits {
  std::optional<std::uint64_t> open_files;       // hard limit; empty: unlimited
  std::optional<std::uint64_t> locked_bytes;     // hard limit; empty: unlimited
  std::optional<std::uint64_t> memory_of_group;  // of its control group; empty: unlimited or unknown
};
[[nodiscard]] OwnLimits read_own_limits(const Files& files);

// Whether the kernel shows its log only to processes with CAP_SYSLOG (kernel.dmesg_restrict); empty: unknown.
[[nodiscard]] std::optional<bool> is_kernel_log_restricted(const Files& files);

// A device file that a driver's library opens.
struct DeviceNode {
  std::string path;
  bool is_open_to_us = false;  // this process may read and write it
};
// Files of NVIDIA's and AMD's compute drivers in /dev. Empty: the drivers made none.
[[nodiscard]] std::vector<DeviceNode> scan_device_nodes(const Files& files);

}  // namespace autopilot::host
