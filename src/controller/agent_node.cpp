// SPDX-License-Identifier: Apache-2.0
#include "controller/agent_node.hpp"

#include "config/forms.hpp"

namespace autopilot::controller {
namespace {

constexpr const char* kNodeOfToken = "authentication.kubernetes.io/node-name";

}  // namespace

std::string agent_account(const std::string& name_space) {
  return "system:serviceaccount:" + name_space + ":autopilot";
}

Result<std::string> node_of_agent(const kube::UserInfo& user, const std::string& account) {
  if (user.name != account) return fail(Errc::denied, user.name + " is no agent; those are " + account);
  const auto nodes = user.extra.find(kNodeOfToken);
  if (nodes == user.extra.end() || nodes->second.size() != 1 || !config::is_dns_name(nodes->second.front()))
    return fail(Errc::denied, "the token names no node: that of a pod does, since Kubernetes 1.30");
  return nodes->second.front();
}

}  // namespace autopilot::controller
