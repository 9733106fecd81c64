// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "diagnostics/operations/operations.hpp"
#include "host/files/files.hpp"
#include "kube/callers/guard.hpp"
#include "net/http_server.hpp"
#include "nettest/run/address_book.hpp"
#include "nettest/run/bandwidth_ends.hpp"
#include "nettest/run/bandwidth_tester.hpp"
#include "nettest/run/group_tester.hpp"
#include "nettest/run/loopback_tester.hpp"
#include "nettest/run/own_network.hpp"
#include "nettest/run/ping_tester.hpp"
#include "nettest/run/tester_doors.hpp"
#include "runtime/workers.hpp"

namespace autopilot::nettest {

struct NetworkTestContext {
  net::EventLoop& loop;
  const Clock& clock;
  const host::Files& files;
  std::string node = {};                     // this one
  std::string pod = {};                      // of this agent; empty: it is in none
  std::vector<std::string> interfaces = {};  // see addresses_for_peers
  // This node is simulated: it has the network of its machine, and neither its RDMA devices nor its GPUs.
  bool is_simulated = false;
  std::function<std::string()> leaf = {};  // of this node, see api::NodeNetwork
  std::function<PingSettings()> ping = {};
  std::function<PairChoice()> pairs = [] { return PairChoice{}; };
  std::function<void(std::function<void(const Result<std::vector<fleet::Peer>>& peers)> done)> peers = {};
  std::function<std::shared_ptr<const net::TlsContext>()> tls = {};
  kube::CallerRights rights = {};  // of agents, to start bandwidth tests
  bool is_open = false;            // any user who can reach the port may start them
  // Sentence that names the job on this node; empty: no job is known. own: number of processes on that GPU
  // that may belong to tests of this agent, as a check that began at `look` saw them.
  using OwnProcesses = std::function<int(const std::string& gpu, WallTime look)>;
  std::function<std::string(const OwnProcesses& own)> job = [](const OwnProcesses&) { return std::string(); };
  // See BandwidthDoors.
  std::function<void(const std::string& gpu, std::function<void(const std::string& busy)> done)> look_at_gpu =
      [](const auto&, const auto& done) { done("the users of the GPUs are not checked"); };
  // Judges anew what the board has of that check.
  std::function<void(const std::string& check)> look = {};
  std::shared_ptr<host::TestBoard> board = {};
};

// Network tests between nodes, on the side of this agent: it answers where its node can be reached, and asks
// the other agents. On the loop's thread.
class NetworkTests {
 public:
  explicit NetworkTests(NetworkTestContext context);

  void add_to(net::HttpServer& server);
  // They refer to this, which outlives them.
  [[nodiscard]] std::vector<diagnostics::OperationKind> operations();
  void start() { ping_.start(); }
  // See PingTester.
  [[nodiscard]] std::vector<Subject> with_agents(std::vector<Subject> nodes) const {
    return ping_.with_agents(std::move(nodes));
  }
  void note_settings() { ping_.note_settings(); }
  // A job may have begun on this node: bandwidth tests make room for it.
  void note_job();
  // Ends the bandwidth tests in which this node takes part.
  void stop();

  [[nodiscard]] BandwidthDoors bandwidth_doors();

 private:
  [[nodiscard]] PingTester::Doors ping_doors();
  [[nodiscard]] TesterDoors tester_doors(std::string_view check);
  [[nodiscard]] std::string job() const {
    return context_.job(
        [this](const std::string& gpu, WallTime look) { return ends_.processes_on(gpu, look); });
  }
  [[nodiscard]] Result<BandwidthTester*> tester_for(const net::HttpRequest& request);
  void answer_plan(const net::HttpRequest& request, net::Responder responder);
  [[nodiscard]] BandwidthEnds::Doors end_doors(std::optional<runtime::Workers>& lanes);

  NetworkTestContext context_;
  std::optional<runtime::Workers> lanes_;      // from their first task on
  std::optional<runtime::Workers> end_lanes_;  // likewise; a thread for each child of a test of bandwidth
  std::optional<runtime::Workers> standing_lanes_;  // likewise; of servers that wait for one
  OwnNetwork own_;
  AddressBook book_;
  PingTester ping_;
  BandwidthEnds ends_;
  BandwidthEnds standing_;
  BandwidthTester bandwidth_;
  BandwidthTester rdma_;
  BandwidthTester rdma_of_gpus_;
  BandwidthTester nccl_;
  GroupTester groups_;
  LoopbackTester loopback_;
};

}  // namespace autopilot::nettest
