// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstdint>

#include "cli/doctor/rows.hpp"
#include "cli/output/table.hpp"
#include "config/forms.hpp"
#include "host/process/processes.hpp"

namespace autopilot::cli {
namespace {

constexpr std::string_view kSyslogRight = "CAP_SYSLOG";
// The agent keeps a connection for each client and a file for each device.
constexpr std::uint64_t kFewFiles = 1024;
// Memory of an agent with its helper processes, without diagnostics.
constexpr std::uint64_t kLittleMemory = std::uint64_t{256} << 20;
constexpr std::size_t kMostGroups = 6;
constexpr int kMostCapabilities = 6;

std::string groups_text(const host::OwnRights& rights) {
  std::vector<std::string> names;
  for (const host::OwnGroup& group : rights.groups)
    if (names.size() < kMostGroups)
      names.push_back(group.name.empty() ? std::to_string(group.id) : group.name);
  const std::size_t more = rights.groups.size() - names.size();
  return names.empty()
             ? "no groups"
             : "groups " + joined(names) + (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

std::string capabilities_text(host::Capabilities capabilities) {
  if (host::has_every_capability(capabilities)) return "all capabilities";
  const int count = std::popcount(capabilities);
  if (count > kMostCapabilities) return std::to_string(count) + " capabilities";
  return "capabilities: " + host::names_of_capabilities(capabilities);
}

DoctorRow identity_row(const host::OwnRights& rights) {
  const auto name = host::local_user_name(rights.uid);
  return {.topic = "user",
          .state = RowState::ok,
          .what = (name ? *name + " (uid " : "uid ") + std::to_string(rights.uid) + (name ? "); " : "; ") +
                  groups_text(rights) + "; " + capabilities_text(rights.effective),
          .adds = {},
          .command = {},
          .checks = {}};
}

DoctorRow namespaces_row(const host::OwnNamespaces& namespaces) {
  DoctorRow row{
      .topic = "namespaces", .state = RowState::ok, .what = {}, .adds = {}, .command = {}, .checks = {}};
  const std::string place = namespaces.is_container ? "in a container" : "on the host";
  if (namespaces.pid && namespaces.user) {
    row.what = place + ", with the processes and users of the machine";
    return row;
  }
  row.state = RowState::limited;
  if (!namespaces.pid) {
    row.what = place + ", without the processes of the machine";
    row.adds = "gpu.processes and host.hung_tasks see the processes of the machine";
    row.command = "hostPID: true in the pod, or the profile full (docs/privileges.md)";
    row.checks = {"gpu.processes", "host.hung_tasks"};
  } else {
    row.what = place + ", in a user namespace: root here is an ordinary user of the machine";
    row.adds = "the permissions of root of the machine";
    row.command = "sudo autopilot doctor, outside the user namespace";
  }
  return row;
}

DoctorRow limits_row(const host::OwnLimits& limits) {
  const auto text = [](const std::optional<std::uint64_t>& limit, bool is_size) {
    if (!limit) return std::string("unlimited");
    return is_size ? config::format_size(*limit) : std::to_string(*limit);
  };
  DoctorRow row{.topic = "limits",
                .state = RowState::ok,
                .what = "open files " + text(limits.open_files, false) + ", locked memory " +
                        text(limits.locked_bytes, true) + ", memory " + text(limits.memory_of_group, true),
                .adds = {},
                .command = {},
                .checks = {}};
  if (limits.open_files && *limits.open_files < kFewFiles) {
    row.state = RowState::limited;
    row.adds = "room for the connections of an agent";
    row.command = "LimitNOFILE=4096 in the unit, or: ulimit -Hn 4096";
  } else if (limits.memory_of_group && *limits.memory_of_group < kLittleMemory) {
    row.state = RowState::limited;
    row.adds = "memory for an agent and its helper processes";
    row.command = "MemoryMax=4G in the unit, or resources.limits.memory of the container";
  }
  return row;
}

std::string names_of_rights(const std::vector<std::string>& rights) {
  return "held: " + joined(rights);
}

}  // namespace

void add_own_rows(const Examined& examined, std::vector<DoctorRow>& rows) {
  rows.push_back(identity_row(examined.rights));
  rows.push_back(namespaces_row(examined.namespaces));
  const host::Files files;
  rows.push_back(limits_row(host::read_own_limits(files)));
}

std::vector<std::string> checks_with(const std::string& right, const Examined& examined) {
  const auto use = std::ranges::find(examined.uses, right, &RightUse::right);
  return use == examined.uses.end() ? std::vector<std::string>{} : use->checks;
}

std::string command_for(const std::string& right, const Examined& examined) {
  if (examined.namespaces.is_container || examined.rights.is_root())
    return "give the container " + right + " (docs/privileges.md)";
  return "sudo autopilot check; for the service AmbientCapabilities=" + right +
         " (sudo systemctl edit autopilot)";
}

void add_right_rows(const Examined& examined, std::vector<DoctorRow>& rows) {
  std::vector<std::string> held;
  for (const RightUse& use : examined.uses) {
    const auto bit = host::capability_named(use.right);
    const bool is_held = bit && (examined.rights.effective & *bit) != 0;
    if (is_held) held.push_back(use.right);
    // The row of the kernel log states what is missing without it.
    if (is_held || use.right == kSyslogRight) continue;
    rows.push_back({.topic = use.right,
                    .state = RowState::limited,
                    .what = "not held",
                    .adds = added_checks(use.checks),
                    .command = command_for(use.right, examined),
                    .checks = use.checks});
  }
  if (!held.empty())
    rows.push_back({.topic = "permissions",
                    .state = RowState::ok,
                    .what = names_of_rights(held),
                    .adds = {},
                    .command = {},
                    .checks = {}});
}

}  // namespace autopilot::cli
