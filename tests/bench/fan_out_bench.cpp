// SPDX-License-Identifier: Apache-2.0
// GET /status?check=remapped over a thousand agents, as the one that is asked does it: their list, a
// connection and an answer of each over plain HTTP, and the transcript. The agents are in this process, on a
// thread of their own; each answers from the node of AUTOPILOT_BENCH_NODE, a file with the JSON of GET
// /v1/node.
#include <benchmark/benchmark.h>
#include <string>
#include <thread>

#include "agent/compat/fan_out.hpp"
#include "bench_node.hpp"
#include "compat/ibm_autopilot/check_names.hpp"
#include "compat/ibm_autopilot/node_answer.hpp"
#include "compat/ibm_autopilot/transcript.hpp"
#include "host/clock/system_clock.hpp"
#include "net/http_server.hpp"

namespace autopilot {
namespace {

namespace ibm = compat::ibm_autopilot;

constexpr int kAgents = 1000;

// All of them behind one port of this machine, told apart by the node that they are asked for.
class Agents {
 public:
  explicit Agents(NodeSnapshot snapshot) : snapshot_(std::move(snapshot)) {
    server_.route("GET", "/status", [this](const net::HttpRequest& request, net::Responder responder) {
      snapshot_.node = request.query.at("host");
      const auto answers = ibm::answers_of(ibm::named_checks(request.query.at("check"), {}), snapshot_);
      responder.respond({200, "text/plain", ibm::to_text(answers, snapshot_), {}});
    });
    port_ = server_.listen_tcp("127.0.0.1:0").value();
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~Agents() {
    loop_.post([this] { loop_.stop(); });
    thread_.join();
  }
  Agents(const Agents&) = delete;
  Agents& operator=(const Agents&) = delete;

  [[nodiscard]] std::vector<agent::Peer> peers() const {
    std::vector<agent::Peer> peers;
    for (int i = 0; i < kAgents; ++i)
      peers.push_back({"node-" + std::to_string(i), "127.0.0.1", port_});
    return peers;
  }

 private:
  NodeSnapshot snapshot_;
  net::EventLoop loop_;
  net::HttpServer server_{loop_, {.connections = 256, .connections_per_listener = 256}};
  std::uint16_t port_ = 0;
  std::thread thread_;
};

std::size_t ask(agent::FanOut& fan_out, net::EventLoop& loop) {
  ibm::StatusRequest request;
  request.checks = "remapped";
  std::string text;
  fan_out.ask(request, agent::ReplyForm::text,
              {[](const agent::NodeReply&) {},
               [&](const auto& replies, Duration took) {
                 std::vector<ibm::AskedNode> asked;
                 for (const agent::NodeReply& reply : *replies)
                   asked.push_back({reply.peer.node, reply.peer.address, reply.url, reply.body.value_or("")});
                 text = ibm::transcript(asked, took);
                 loop.stop();
               }});
  loop.run();
  return text.size();
}

void status_of_a_thousand_agents(benchmark::State& state) {
  auto snapshot = bench_node(state);
  if (!snapshot) return;
  const Agents agents(std::move(*snapshot));
  net::EventLoop loop;
  const host::SystemClock clock;
  agent::FanOut fan_out({loop, clock, "asker", {}, [&agents](const auto& done) { done(agents.peers()); }});
  std::size_t bytes = 0;
  while (state.KeepRunning())
    bytes = ask(fan_out, loop);
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(status_of_a_thousand_agents)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace autopilot
