// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "agent/agent.hpp"
#include "cli/doctor/diagnosis.hpp"
#include "cli/open_machine.hpp"
#include "config/config.hpp"
#include "host/process/own_rights.hpp"

namespace autopilot::cli {

// What the rows of `autopilot doctor` read.
struct Examined {
  const MachineChoice& choice;
  const config::Config& settings;
  const agent::Machine& machine;
  const host::OwnRights& rights;
  host::OwnNamespaces namespaces;
  std::vector<RightUse> uses;  // of this machine
};

// User, groups and capabilities; namespaces; limits.
void add_own_rows(const Examined& examined, std::vector<DoctorRow>& rows);
// The permissions that checks need, other than that of the kernel log.
void add_right_rows(const Examined& examined, std::vector<DoctorRow>& rows);
// Drivers of GPUs and their device files.
void add_driver_rows(const Examined& examined, std::vector<DoctorRow>& rows);
// Kernel log, systemd journal, clock, kubelet.
void add_machine_rows(const Examined& examined, std::vector<DoctorRow>& rows);
// Configuration, agent, service, journal of the agent and the disk below it.
void add_agent_rows(const Examined& examined, const std::string& socket, std::vector<DoctorRow>& rows);

// How a user gets a permission for the checks.
[[nodiscard]] std::string command_for(const std::string& right, const Examined& examined);
// The checks of a permission on this machine.
[[nodiscard]] std::vector<std::string> checks_with(const std::string& right, const Examined& examined);

}  // namespace autopilot::cli
