// SPDX-License-Identifier: Apache-2.0
#include "nettest/run/network_tests.hpp"

#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <string>

#include "api/bandwidth.hpp"
#include "api/network.hpp"
#include "host/clock/system_clock.hpp"
#include "net/http_session.hpp"
#include "tests/support/host/test_folder.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::nettest {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::UnorderedElementsAre;

class NetworkTestsTest : public ::testing::Test {
 protected:
  NetworkTestsTest() {
    tests_.add_to(server_);
    url_ = {false, "127.0.0.1", server_.listen_tcp("127.0.0.1:0").value(), ""};
  }
  NetworkTestContext context() {
    NetworkTestContext context{.loop = loop_, .clock = clock_, .files = files_};
    context.node = "node-a";
    context.leaf = [] { return std::string("leaf-7"); };
    context.peers = [](const auto& done) { done(std::vector<fleet::Peer>{}); };
    context.tls = [] { return nullptr; };
    context.is_open = true;
    context.job = [this](const auto&) { return job_; };
    return context;
  }
  Result<net::HttpResponse> ask(const std::string& method, const std::string& path,
                                const std::string& body = "",
                                const std::map<std::string, std::string, std::less<>>& query = {}) {
    std::optional<Result<net::HttpResponse>> answer;
    net::HttpSession session(loop_, url_, {});
    net::HttpRequest request;
    request.method = method;
    request.path = path;
    request.body = body;
    request.query = query;
    const net::Exchange exchange =
        session.send(request, net::testing::kPatience, [&answer](auto got) { answer = std::move(got); });
    const bool is_over = net::testing::run_until(loop_, [&answer] { return answer.has_value(); });
    return is_over ? *answer : fail(Errc::timed_out, "no answer");
  }

  const host::TestFolder folder_;
  const host::Files files_{folder_.path()};
  net::EventLoop loop_;
  const host::SystemClock clock_;
  net::HttpServer server_{loop_, {}};
  net::ServerUrl url_;
  std::string job_;
  NetworkTests tests_{context()};
};

TEST_F(NetworkTestsTest, the_page_of_the_node_names_its_leaf) {
  const auto page = ask("GET", api::kNetworkPath);
  ASSERT_TRUE(page) << page.error().what;
  EXPECT_EQ(api::parse_node_network(page->body).value().leaf, "leaf-7");
}

TEST_F(NetworkTestsTest, beside_a_job_no_test_begins) {
  job_ = "pod ml/train-0 holds GPUs of this node";
  const std::string servers = api::to_json(
      api::ServersRequest{.address = "192.0.2.1", .allowed = "192.0.2.2", .processes = 1, .seconds = 5});
  const std::string bandwidth = api::to_json(api::BandwidthRequest{.address = "192.0.2.1",
                                                                   .node = "node-b",
                                                                   .to = "192.0.2.2",
                                                                   .ports = {5201},
                                                                   .streams = 1,
                                                                   .seconds = 1});
  for (const auto& [path, body] : {std::pair{api::kServersPath, servers}, {api::kBandwidthPath, bandwidth}}) {
    const auto answer = ask("POST", path, body);
    ASSERT_TRUE(answer) << answer.error().what;
    EXPECT_EQ(answer->status, 409) << path;
    EXPECT_THAT(answer->body, HasSubstr("pod ml/train-0 holds GPUs of this node"));
  }
  // Without it the next question is whether the address is one of this node.
  job_.clear();
  EXPECT_EQ(ask("POST", api::kServersPath, servers).value().status, 400);
}

// Everybody may have lines tested here.
TEST_F(NetworkTestsTest, only_an_agent_may_use_the_memory_of_gpus) {
  api::ServersRequest servers{.address = "192.0.2.1",
                              .allowed = "192.0.2.2",
                              .seconds = 5,
                              .rdma_port = "mlx5_0/1",
                              .test_seconds = 1};
  api::BandwidthRequest bandwidth{.address = "192.0.2.1",
                                  .node = "node-b",
                                  .to = "192.0.2.2",
                                  .ports = {1, 2, 3},
                                  .seconds = 1,
                                  .rdma_port = "mlx5_0/1"};
  EXPECT_EQ(ask("POST", api::kServersPath, api::to_json(servers)).value().status, 400);
  EXPECT_EQ(ask("POST", api::kBandwidthPath, api::to_json(bandwidth)).value().status, 404);
  servers.memory = bandwidth.memory = api::Memory::gpu;
  EXPECT_EQ(ask("POST", api::kServersPath, api::to_json(servers)).value().status, 403);
  EXPECT_EQ(ask("POST", api::kBandwidthPath, api::to_json(bandwidth)).value().status, 403);
}

TEST_F(NetworkTestsTest, a_plan_out_of_the_memory_of_gpus_is_one_by_rdma) {
  const auto plan_for = [this](const std::string& kind, const std::string& memory) {
    return ask("GET", api::kBandwidthPlanPath, "", {{"kind", kind}, {"memory", memory}});
  };
  EXPECT_EQ(plan_for("tcp", "gpu").value().status, 400);
  EXPECT_EQ(plan_for("nccl", "gpu").value().status, 400);
  EXPECT_EQ(plan_for("rdma", "disk").value().status, 400);
  const auto plan = plan_for("rdma", "gpu");
  ASSERT_TRUE(plan) << plan.error().what;
  EXPECT_EQ(plan->status, 501);
  EXPECT_THAT(plan->body, HasSubstr("with a GPU beside it"));
}

std::vector<std::string> ids_of(const std::vector<diagnostics::OperationKind>& kinds) {
  std::vector<std::string> ids;
  for (const diagnostics::OperationKind& kind : kinds)
    ids.push_back(kind.id);
  return ids;
}

// Its GPUs and RDMA devices are not those of the machine that it runs on, and nothing may be tested on these.
TEST_F(NetworkTestsTest, a_machine_that_does_not_exist_takes_part_with_addresses_alone) {
  folder_.write("/sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
  folder_.write("/sys/class/infiniband/mlx5_0/ports/1/link_layer", "InfiniBand\n");
  EXPECT_THAT(ids_of(tests_.operations()),
              IsSupersetOf({"network.ping", "network.bandwidth", "network.rdma_bandwidth", "network.rdma_gpu",
                            "network.nccl_group", "network.nccl_allreduce", "network.rdma_loopback"}));
  EXPECT_EQ(api::parse_node_network(ask("GET", api::kNetworkPath).value().body)->rdma.size(), 1U);
  NetworkTestContext simulated = context();
  simulated.is_simulated = true;
  NetworkTests tests(std::move(simulated));
  EXPECT_THAT(ids_of(tests.operations()), UnorderedElementsAre("network.ping", "network.bandwidth"));
  net::HttpServer server(loop_, {});
  tests.add_to(server);
  url_ = {false, "127.0.0.1", server.listen_tcp("127.0.0.1:0").value(), ""};
  EXPECT_THAT(api::parse_node_network(ask("GET", api::kNetworkPath).value().body)->rdma, IsEmpty());
}

}  // namespace
}  // namespace autopilot::nettest
