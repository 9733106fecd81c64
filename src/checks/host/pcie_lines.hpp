// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "checks/check.hpp"
#include "checks/kernel_log/decode.hpp"
#include "host/host.hpp"

namespace autopilot::checks {

// Maps a device or port to the subject whose path to the processor contains it.
class PciePaths {
 public:
  // A port above several devices belongs to none of them.
  void add(const std::string& address, const Subject& whose);
  // link/<address> if no subject, or several, have this address.
  [[nodiscard]] Subject of(const std::string& address) const;
  // The subject of a line: the sender of the error, if the line names it.
  [[nodiscard]] Subject of(const DecodedRecord& decoded) const;

 private:
  std::map<std::string, Subject> whose_;
};

// Adds to each line about a slow link the maximum that both ends support, if sysfs reports it.
void add_link_abilities(const host::Files& files, Observations& observations);

// Adds findings for the kernel's lines about PCIe errors and slow links. If `findings` already has the
// subject, by its counters, the line becomes evidence there. Findings about a GPU have the reasons of
// gpu.pcie_link, so that both are one incident. Corrected errors are judged by rate.
void judge_pcie_lines(const JudgeInput& input, Findings& findings);

}  // namespace autopilot::checks
