// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "compat/ibm_autopilot/check_answer.hpp"
#include "compat/ibm_autopilot/service/fan_out.hpp"
#include "compat/ibm_autopilot/service/iperf_parts.hpp"
#include "compat/ibm_autopilot/service/local_answer.hpp"
#include "compat/ibm_autopilot/service/selected_nodes.hpp"
#include "compat/ibm_autopilot/service/test_rights.hpp"
#include "net/http_server.hpp"

namespace autopilot::compat::ibm_autopilot {

struct IbmContext {
  LocalContext local;
  std::string node;                              // this one
  std::vector<std::string> periodic_checks;      // what "all" means
  std::function<double()> pcie_bandwidth_limit;  // GB/s, as it is configured now
  std::function<void(std::function<void(const Result<std::vector<fleet::Peer>>& peers)> done)> peers;
  std::function<std::shared_ptr<const net::TlsContext>()> tls;  // see FanOutContext
  NodeFinder finder;
  std::string label_prefix;  // of the labels with the result of a deep diagnostic
  int deep_test_level = 0;
  bool open_actions = false;                            // each caller may start tests and list pods
  std::optional<nettest::BandwidthDoors> network = {};  // empty: no network tests on this machine
};

// The paths of IBM Autopilot, which answer every caller: they read, and start no load. An active check
// answers with its last result, unless the caller has a token with the permission to start the test. Text;
// JSON for a caller that accepts application/json; server-sent events (one for each check of this node, or
// one for each node) for a caller that accepts text/event-stream. The status is always 200.
class IbmRoutes {
 public:
  enum class Form { text, json, events };

  explicit IbmRoutes(IbmContext context);

  void add_to(net::HttpServer& server);

 private:
  // Of several nodes.
  struct Question {
    compat::ibm_autopilot::StatusRequest wanted;
    net::HttpRequest request;
    Form form = Form::text;
    std::string beginning;  // of a text
    std::string network;    // this node's results of the network between all of them, in JSON
    TestRights rights;
    net::Responder responder;
  };

  void add_iperf_parts(net::HttpServer& server);
  void add_check(net::HttpServer& server, const compat::ibm_autopilot::CheckName& check);
  void answer_here(const std::vector<std::string>& names, std::string preamble,
                   const net::HttpRequest& request, net::Responder responder);
  void launch_deep_test(const net::HttpRequest& request, net::Responder responder);
  void get_status(const net::HttpRequest& request, net::Responder responder);
  void find_nodes(const std::shared_ptr<Question>& question);
  [[nodiscard]] std::string why_others_make_no_tests(const TestRights& rights) const;
  void ask_nodes(Question& question, const WantedNodes& found);

  const IbmContext context_;
  FanOut fan_out_;
  std::optional<IperfParts> iperf_;
};

}  // namespace autopilot::compat::ibm_autopilot
