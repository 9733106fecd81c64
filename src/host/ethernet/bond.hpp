// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "host/files/files.hpp"

namespace autopilot::host {

struct BondMember {
  std::string name;
  std::string link;               // "up", "down", "going down", "going back": as the bond sees it
  std::optional<int> aggregator;  // of LACP: members with the same number carry traffic together
};

// One bond of the kernel's bonding driver.
struct Bond {
  std::string name;
  std::optional<Error> problem;  // why it cannot be understood; the rest is empty then
  bool is_up = false;            // the administrator wants it up
  std::string mode;              // "802.3ad", "active-backup", ...
  std::vector<BondMember> members;
  std::optional<int> aggregator;      // of LACP: the one that carries traffic
  std::optional<bool> has_partner{};  // of LACP: the switch answers
};

// Every bond, by name. Empty: there is none. unavailable: there is no sysfs to ask. One that cannot be read
// or understood is listed with its problem and hides no other.
[[nodiscard]] Result<std::vector<Bond>> scan_bonds(const Files& files);

}  // namespace autopilot::host
