// SPDX-License-Identifier: Apache-2.0
#include "host/ethtool/tree_ethtool.hpp"

namespace autopilot::host {
namespace {

Result<EthtoolPort> read_one(const MachineTree& tree, const std::string& interface) {
  const auto found = tree.ethernet_ports.find(interface);
  if (found == tree.ethernet_ports.end())
    return fail(Errc::unavailable, tree.directory + "/machine.yaml: says nothing of the port " + interface);
  return found->second;
}

}  // namespace

std::vector<Result<EthtoolPort>> TreeEthtool::read(const std::vector<std::string>& interfaces,
                                                   MonoTime /*deadline*/) const {
  const auto tree = tree_.read();
  if (!tree) return {interfaces.size(), fail(tree.error())};
  std::vector<Result<EthtoolPort>> answers;
  for (const std::string& interface : interfaces)
    answers.push_back(read_one(**tree, interface));
  return answers;
}

}  // namespace autopilot::host
