// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "host/files/files.hpp"

namespace autopilot::host {

// Who this machine and this process are.
struct HostFacts {
  std::string node;                       // host name
  std::string boot_id;                    // a UUID, new at every boot
  std::string kernel_release;             // "6.1.0-18-amd64"
  std::uint32_t uid = 0;                  // effective
  std::vector<std::string> capabilities;  // effective, by name: "CAP_SYSLOG"; in the kernel's order

  [[nodiscard]] bool has_capability(std::string_view name) const;
};

// From /proc alone. An error names the file that is missing or malformed.
[[nodiscard]] Result<HostFacts> read_host_facts(const Files& files);

}  // namespace autopilot::host
