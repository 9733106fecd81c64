// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "checks/check.hpp"
#include "checks/kernel_log/decode.hpp"
#include "host/host.hpp"

namespace autopilot::checks {

// Whose path to the processor a device or port is part of.
class PciePaths {
 public:
  // A port above several devices is none's.
  void add(const std::string& address, const Subject& whose);
  // link/<address> where nobody, or several, named it.
  [[nodiscard]] Subject of(const std::string& address) const;
  // Whom a line is about: where it names the sender of an error, that one.
  [[nodiscard]] Subject of(const DecodedRecord& decoded) const;

 private:
  std::map<std::string, Subject> whose_;
};

// Adds to each line about a slow link what both ends of that link can at most, where sysfs tells.
void add_link_abilities(const host::Files& files, Observations& observations);

// Adds what the kernel's lines about PCIe errors and slow links say. Errors of a subject that `findings`
// tells of already, by the counters, become evidence there; those of a GPU have the reasons of gpu.pcie_link,
// so that both are one incident. Corrected errors count by their rate.
void judge_pcie_lines(const JudgeInput& input, Findings& findings);

}  // namespace autopilot::checks
