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

#include "compat/ibm_autopilot/check_answer.hpp"
#include "core/result.hpp"

namespace autopilot::compat::ibm_autopilot {

// Parameters of GET /status. Empty parameters were not set.
struct StatusRequest {
  std::string host{kAll};          // as requested: "all", a node, or several separated by commas
  std::string job{kUnset};         // "<namespace>:<label selector>"
  std::string node_label{kUnset};  // a label selector
  std::string checks;              // without iperf: "all", or names separated by commas
  bool wants_iperf = false;        // also run the network test of the whole cluster
  std::size_t batch = 0;           // number of nodes at once; 0: all
  std::string dcgm_level = "1";
  std::string ping_nodes{kAll};
};

// A reply repeats the request for each node: a request needs limits.
inline constexpr std::size_t kMaxHosts = 1000;
inline constexpr std::size_t kMaxChecks = 32;
inline constexpr std::size_t kMaxParameter = 512;  // bytes of each parameter but `host`

using QueryParameters = std::map<std::string, std::string, std::less<>>;

// malformed, with the text of the reply: `batch` is not a number, `host` has invalid node names, or a value
// is beyond its limit.
[[nodiscard]] Result<StatusRequest> read_status_request(const QueryParameters& query);

// Only about this node: the agent answers itself and sends no request to others.
[[nodiscard]] bool is_local(const StatusRequest& request, std::string_view node);

// The request to the agent of one node: host and check, and for ping and dcgm their parameters.
using Parameters = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] Parameters parameters_of(const StatusRequest& request, const std::string& node);
// "/status?host=<node>&check=<checks>": for display, not encoded.
[[nodiscard]] std::string path_of(const StatusRequest& request, const std::string& node);

// The nodes to ask, of those with an agent: `host` in its order if it names nodes, else all. Names without an
// agent are included.
[[nodiscard]] std::vector<std::string> asked_hosts(const StatusRequest& request,
                                                   const std::vector<std::string>& nodes);

// "<namespace>" and "<label selector>" of `job`. malformed, with the text of the reply: one is empty, or the
// first is not a valid namespace name.
[[nodiscard]] Result<std::pair<std::string, std::string>> read_job(const std::string& job);
// Lines of a reply about a job: its name, and that the caller cannot list its pods.
[[nodiscard]] std::string gpu_user_line(const std::string& name_space, const std::string& selector);
[[nodiscard]] std::string not_allowed_line(const std::string& name_space);
// The same request for the nodes of `host` and these nodes; only these nodes if `host` names none. malformed,
// with the text of the reply: more than kMaxHosts nodes.
[[nodiscard]] Result<StatusRequest> with_nodes(StatusRequest request, const std::set<std::string>& nodes);
// True if `job` or `nodelabel` selects the nodes.
[[nodiscard]] bool selects_nodes(const StatusRequest& request);

// The first lines of a reply about the network between all nodes; `host` and `job` are only echoed.
[[nodiscard]] std::string network_test_line(const StatusRequest& request);
// The first lines of a reply that needs other nodes.
[[nodiscard]] std::string asking_line(const StatusRequest& request);

// Status of a node from its reply, as in the line "Node Status:" and in the summary: one phrase for each line
// with FAIL or ABORT and the tag of a check, in their order, with repetitions; {"OK"} if there is none.
[[nodiscard]] std::vector<std::string> status_words(std::string_view reply);

// A text that can be beside FAIL or ABORT without matching the tag of a check.
[[nodiscard]] std::string without_tags(const std::string& text);

}  // namespace autopilot::compat::ibm_autopilot
