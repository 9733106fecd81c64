// SPDX-License-Identifier: Apache-2.0
#include "host/dns/name_server_doors.hpp"

#include "host/dns/ask_name_servers.hpp"

namespace autopilot::host {

Result<NameServersSeen> SystemNameServers::ask(MonoTime deadline) const {
  const NameServerList list = TRY(read_name_servers(files_));
  auto answers = TRY(ask_name_servers(list.addresses, kDnsPort, deadline));
  return NameServersSeen{list.is_configured, std::move(answers)};
}

Result<NameServersSeen> TreeNameServers::ask(MonoTime /*deadline*/) const {
  const NameServerList list = TRY(read_name_servers(files_));
  const auto tree = TRY(tree_.read());
  NameServersSeen seen{list.is_configured, {}};
  for (const std::string& address : list.addresses) {
    const auto found = tree->name_servers.find(address);
    if (found == tree->name_servers.end())
      return fail(Errc::unavailable,
                  tree->directory + "/machine.yaml: says nothing of the name server " + address);
    seen.answers.push_back(found->second);
  }
  return seen;
}

}  // namespace autopilot::host
