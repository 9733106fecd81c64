// SPDX-License-Identifier: Apache-2.0
// GET /status?check=remapped over a thousand agents, measured in the agent that gets the request: the list of
// agents, a connection and an answer of each, and the transcript, over plain HTTP and over TLS with both
// certificates verified for each connection. The agents are in this process, on a separate thread; each
// answers with the node of AUTOPILOT_BENCH_NODE, a file with the JSON of GET /v1/node. AUTOPILOT_BENCH_KEYS
// is a folder with ca.crt, nodes.crt and nodes.key, which are valid for every name in kDomain.
#include <algorithm>
#include <benchmark/benchmark.h>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "bench_node.hpp"
#include "compat/ibm_autopilot/check_answer.hpp"
#include "compat/ibm_autopilot/node_answer.hpp"
#include "compat/ibm_autopilot/service/fan_out.hpp"
#include "compat/ibm_autopilot/transcript.hpp"
#include "host/clock/system_clock.hpp"
#include "net/http_server.hpp"
#include "net/node_keys.hpp"

namespace autopilot {
namespace {

namespace ibm = compat::ibm_autopilot;

constexpr int kAgents = 1000;
const std::string kDomain = ".nodes.example";

// As every agent has them from the same Secret: of the folder AUTOPILOT_BENCH_KEYS.
Result<net::ReadyKeys> read_keys() {
  const char* folder = std::getenv("AUTOPILOT_BENCH_KEYS");
  if (folder == nullptr) return fail(Errc::not_found, "AUTOPILOT_BENCH_KEYS names no folder");
  const auto text = [folder](const std::string& name) {
    std::ifstream file(std::string(folder) + "/" + name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  return net::make_ready({text("nodes.crt"), text("nodes.key"), text("ca.crt")});
}

// All agents at one port of this machine, distinguished by the node in the request.
class Agents {
 public:
  // tls: null: over plain HTTP.
  Agents(NodeSnapshot snapshot, const std::shared_ptr<const net::TlsContext>& tls)
      : snapshot_(std::move(snapshot)), is_encrypted_(tls != nullptr) {
    server_.route("GET", "/status", [this](const net::HttpRequest& request, net::Responder responder) {
      snapshot_.node = request.query.at("host");
      const auto answers = ibm::answers_of(ibm::named_checks(request.query.at("check"), {}), snapshot_);
      responder.respond({200, "text/plain", ibm::to_text(answers, snapshot_), {}});
    });
    port_ = (tls ? server_.listen_tls("127.0.0.1:0", tls) : server_.listen_tcp("127.0.0.1:0")).value();
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~Agents() {
    loop_.post([this] { loop_.stop(); });
    thread_.join();
  }
  Agents(const Agents&) = delete;
  Agents& operator=(const Agents&) = delete;

  [[nodiscard]] std::vector<fleet::Peer> peers() const {
    std::vector<fleet::Peer> peers;
    for (int i = 0; i < kAgents; ++i)
      peers.push_back({"node-" + std::to_string(i) + kDomain, "127.0.0.1", port_, is_encrypted_});
    return peers;
  }

 private:
  NodeSnapshot snapshot_;
  const bool is_encrypted_;
  net::EventLoop loop_;
  net::HttpServer server_{loop_, {.connections = 256}};
  std::uint16_t port_ = 0;
  std::thread thread_;
};

std::size_t ask(compat::ibm_autopilot::FanOut& fan_out, net::EventLoop& loop) {
  ibm::StatusRequest request;
  request.checks = "remapped";
  std::string text;
  fan_out.ask(request, {}, compat::ibm_autopilot::ReplyForm::text,
              {[](const compat::ibm_autopilot::NodeReply&) {},
               [&](const auto& replies, Duration took) {
                 std::vector<ibm::AskedNode> asked;
                 for (const compat::ibm_autopilot::NodeReply& reply : *replies)
                   asked.push_back({reply.peer.node, reply.peer.address, reply.url, reply.body.value()});
                 text = ibm::transcript(asked, took);
                 loop.stop();
               }});
  loop.run();
  return text.size();
}

// keys: null: over plain HTTP.
void ask_a_thousand_agents(benchmark::State& state, const net::ReadyKeys* keys) {
  auto snapshot = bench_node(state);
  if (!snapshot) return;
  const Agents agents(std::move(*snapshot), keys == nullptr ? nullptr : keys->server);
  net::EventLoop loop;
  const host::SystemClock clock;
  compat::ibm_autopilot::FanOutContext context{
      loop, clock, "asker", {}, [&agents](const auto& done) { done(agents.peers()); }};
  if (keys != nullptr) context.tls = [keys] { return keys->client; };
  compat::ibm_autopilot::FanOut fan_out(std::move(context));
  std::size_t bytes = 0;
  while (state.KeepRunning())
    bytes = ask(fan_out, loop);
  state.counters["bytes"] = static_cast<double>(bytes);
}

void status_of_a_thousand_agents(benchmark::State& state) {
  ask_a_thousand_agents(state, nullptr);
}

void status_of_a_thousand_agents_inside_tls(benchmark::State& state) {
  const auto keys = read_keys();
  if (!keys) return state.SkipWithError(keys.error().what.c_str());
  ask_a_thousand_agents(state, &*keys);
}

double smallest(const std::vector<double>& times) {
  return *std::ranges::min_element(times);
}

BENCHMARK(status_of_a_thousand_agents)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->ComputeStatistics("min", smallest);
BENCHMARK(status_of_a_thousand_agents_inside_tls)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->ComputeStatistics("min", smallest);

}  // namespace
}  // namespace autopilot
