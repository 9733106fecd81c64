// SPDX-License-Identifier: Apache-2.0
#include "host/tree_backends.hpp"

namespace autopilot::host {
namespace {

Result<EthtoolPort> read_one(const MachineTree& tree, const std::string& interface) {
  const auto found = tree.ethernet_ports.find(interface);
  if (found == tree.ethernet_ports.end())
    return fail(Errc::unavailable, tree.directory + "/machine.yaml: no entry for the port " + interface);
  return found->second;
}

}  // namespace

Result<TimeSyncState> TreeTimeSyncBackend::read() const {
  const auto tree = TRY(tree_.read());
  const auto& time_sync = tree->time_sync;
  if (!time_sync) return fail(Errc::unavailable, tree->directory + "/machine.yaml: no entry time_sync");
  if (time_sync->error) return fail(*time_sync->error, "adjtimex: as the machine tree sets it");
  TimeSyncState state = time_sync->state;
  add_clocksource(files_, state);
  return state;
}

Result<NameServersSeen> TreeNameServers::ask(MonoTime /*deadline*/) const {
  const NameServerList list = TRY(read_name_servers(files_));
  const auto tree = TRY(tree_.read());
  NameServersSeen seen{list.is_configured, {}};
  for (const std::string& address : list.addresses) {
    const auto found = tree->name_servers.find(address);
    if (found == tree->name_servers.end())
      return fail(Errc::unavailable,
                  tree->directory + "/machine.yaml: no entry for the name server " + address);
    seen.answers.push_back(found->second);
  }
  return seen;
}

std::vector<Result<EthtoolPort>> TreeEthtool::read(const std::vector<std::string>& interfaces,
                                                   MonoTime /*deadline*/) const {
  const auto tree = tree_.read();
  if (!tree) return {interfaces.size(), fail(tree.error())};
  std::vector<Result<EthtoolPort>> answers;
  for (const std::string& interface : interfaces)
    answers.push_back(read_one(**tree, interface));
  return answers;
}

Result<std::vector<Mount>> TreeFilesystems::mounts() const {
  const std::string text = TRY(files_.read("/proc/self/mountinfo"));
  return parse_mountinfo(text);
}

Result<Usage> TreeFilesystems::usage(const Mount& mount, MonoTime) const {
  const auto tree = TRY(tree_.read());
  const auto found = tree->filesystems.find(mount.mount_point);
  if (found == tree->filesystems.end())
    return fail(Errc::not_found, mount.mount_point + ": no usage in the machine tree");
  const TreeUsage& answer = found->second;
  if (answer.hangs) return fail(Errc::timed_out, mount.mount_point + ": no answer within the deadline");
  if (answer.error) return fail(*answer.error, mount.mount_point + ": as the machine tree sets it");
  return answer.usage;
}

Result<std::vector<NvmeController>> TreeNvmeDevices::controllers() const {
  return read_nvme_controllers(files_);
}

Result<NvmeHealth> TreeNvmeDevices::health(const std::string& controller, MonoTime) const {
  const auto tree = TRY(tree_.read());
  const auto found = tree->nvme.find(controller);
  if (found == tree->nvme.end())
    return fail(Errc::not_found, controller + ": no health log page in the machine tree");
  if (const auto& error = found->second.error)
    return fail(*error, controller + ": as the machine tree sets it");
  return found->second.health;
}

}  // namespace autopilot::host
