// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compat/ibm_autopilot/check_names.hpp"
#include "core/result.hpp"

namespace autopilot::compat::ibm_autopilot {

// What GET /status asks for. Empty parameters are those that were not set.
struct StatusRequest {
  std::string host{kAll};          // as it was asked for: "all", a node, or several with commas between
  std::string job{kUnset};         // "<namespace>:<label selector>"
  std::string node_label{kUnset};  // a label selector
  std::string checks;              // without iperf: "all", or names with commas between
  bool wants_iperf = false;        // the network test of the whole cluster as well
  std::size_t batch = 0;           // how many nodes at once; 0: all
  std::string dcgm_level = "1";
  std::string ping_nodes{kAll};
};

// An answer says again what was asked for, of each node: a question has its limits.
inline constexpr std::size_t kMaxHosts = 1000;
inline constexpr std::size_t kMaxChecks = 32;
inline constexpr std::size_t kMaxParameter = 512;  // bytes of each parameter but `host`

using QueryParameters = std::map<std::string, std::string, std::less<>>;

// malformed, with the text to answer with: `batch` is no number, `host` has no names of nodes, or something
// is beyond its limit.
[[nodiscard]] Result<StatusRequest> read_status_request(const QueryParameters& query);

// To this node alone: it looks itself, and asks nobody.
[[nodiscard]] bool is_local(const StatusRequest& request, std::string_view node);

// What the agent of one node is asked for it: host and check, and with ping and dcgm their parameters.
using Parameters = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] Parameters parameters_of(const StatusRequest& request, const std::string& node);
// "/status?host=<node>&check=<checks>": as it is shown, not encoded.
[[nodiscard]] std::string path_of(const StatusRequest& request, const std::string& node);

// Of the nodes that have agents, those that are asked: `host` in its order where it names some, else all.
// Names without an agent are among them.
[[nodiscard]] std::vector<std::string> asked_hosts(const StatusRequest& request,
                                                   const std::vector<std::string>& nodes);

// "<namespace>" and "<label selector>" of `job`. malformed, with the text to answer with, where one is empty
// or the first is no name of a namespace.
[[nodiscard]] Result<std::pair<std::string, std::string>> read_job(const std::string& job);
// Lines of an answer about a job: which it is, and that its pods are not for everybody.
[[nodiscard]] std::string workload_line(const std::string& name_space, const std::string& selector);
[[nodiscard]] std::string not_allowed_line(const std::string& name_space);
// The same question to what `host` names and to these nodes; where it names none, to these nodes alone.
// malformed, with the text to answer with: they are more than kMaxHosts.
[[nodiscard]] Result<StatusRequest> with_nodes(StatusRequest request, const std::set<std::string>& nodes);
// Whether `job` or `nodelabel` says which nodes.
[[nodiscard]] bool selects_nodes(const StatusRequest& request);

// The first lines of an answer about the network between all nodes: `host` and `job` are only said again.
[[nodiscard]] std::string network_test_line(const StatusRequest& request);
// The first lines of an answer that other nodes are asked for.
[[nodiscard]] std::string asking_line(const StatusRequest& request);

}  // namespace autopilot::compat::ibm_autopilot
