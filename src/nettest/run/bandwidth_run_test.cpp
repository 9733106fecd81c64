// SPDX-License-Identifier: Apache-2.0
#include "nettest/run/bandwidth_run.hpp"

#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/bandwidth.hpp"
#include "net/http_server.hpp"
#include "nettest/run/bandwidth_observations.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::nettest {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

const std::string kRunNcclId(api::kNcclIdLength, 'a');

PeerNetwork network_of(const std::string& node, std::vector<api::NetworkAddress> addresses,
                       std::uint16_t port = 0) {
  PeerNetwork network;
  network.peer = {.node = node, .address = "127.0.0.1", .port = port};
  network.network.node = node;
  network.network.addresses = std::move(addresses);
  return network;
}

TEST(FabricOf, interfaces_of_one_name_are_a_rail) {
  auto first = network_of("a", {{"ib0", "10.2.0.1"}, {"ib0", "fd00::1"}, {"eth0", "10.1.0.1"}});
  first.network.leaf = "leaf-1";
  const auto fabric = fabric_of({first, network_of("b", {{"ib0", "10.2.0.2"}})}, kByTcp, false);
  ASSERT_TRUE(fabric) << fabric.error().what;
  EXPECT_THAT(fabric->rails(), ElementsAre("ib0", "eth0"));
  EXPECT_EQ(fabric->nodes()[0].leaf, "leaf-1");
  EXPECT_EQ(fabric->nic(1, 1), nullptr);
}

// A line of 25 Gbit/s is not slow because others have 100.
TEST(FabricOf, lines_of_different_rates_are_not_compared) {
  constexpr std::size_t kGigabit = 1'000'000'000;
  const auto node = [](const std::string& name, std::size_t gigabits) {
    return network_of(name, {{"eth0", "10.1.0.1", 0, gigabits * kGigabit}});
  };
  const auto fabric = fabric_of({node("a", 100), node("b", 25), node("c", 100), node("d", 0)}, kByTcp, false);
  ASSERT_TRUE(fabric) << fabric.error().what;
  EXPECT_THAT(fabric->rails(),
              ElementsAre("eth0 at 100 Gbit/s", "eth0 at 25 Gbit/s", "eth0 at an unknown rate"));
  EXPECT_EQ(fabric->nic(0, 2)->interface, "eth0");
}

TEST(FabricOf, without_two_nodes_in_one_network_there_is_no_pair) {
  const auto fabric = fabric_of(
      {network_of("a", {{"eth0", "10.1.0.1"}}), network_of("b", {{"ib0", "10.2.0.2"}})}, kByTcp, false);
  ASSERT_FALSE(fabric);
  EXPECT_EQ(fabric.error().code, Errc::unsupported);
}

// Both have an interface, and only one an RDMA port that is active.
TEST(FabricOf, by_rdma_ports_of_one_name_are_a_rail) {
  auto first = network_of("a", {{"eth0", "10.1.0.1"}});
  auto second = network_of("b", {{"eth0", "10.1.0.2"}});
  first.network.rdma = {{"mlx5_0/1", 200'000'000'000}, {"mlx5_1/1", 0}};
  const auto none = fabric_of({first, second}, kByRdma, false);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().what, HasSubstr("no two nodes have an RDMA port of the same name"));
  second.network.rdma = {{"mlx5_0/1", 200'000'000'000}, {"mlx5_1/1", 0}};
  EXPECT_THAT(fabric_of({first, second}, kByRdma, false)->rails(), ElementsAre("mlx5_0/1", "mlx5_1/1"));
  // A share of an unknown rate is not defined.
  EXPECT_THAT(fabric_of({first, second}, kByRdma, true)->rails(), ElementsAre("mlx5_0/1"));
}

// Seven GPUs have less than eight (NVIDIA/aicr 1858).
TEST(FabricOf, by_nccl_nodes_with_as_many_gpus_are_compared) {
  std::vector<PeerNetwork> networks;
  for (const std::size_t gpus : {8U, 7U, 8U, 0U}) {
    networks.push_back(network_of(std::string(1, static_cast<char>('a' + networks.size())), {}));
    networks.back().network.gpus = gpus;
  }
  const auto fabric = fabric_of(networks, kByNccl, false);
  ASSERT_TRUE(fabric) << fabric.error().what;
  EXPECT_THAT(fabric->rails(), ElementsAre("gpus-8", "gpus-7"));
  EXPECT_EQ(fabric->nic(0, 1), nullptr);
  networks.pop_back();
  networks.pop_back();
  EXPECT_THAT(fabric_of(networks, kByNccl, false).error().what,
              HasSubstr("no two nodes have an equal number of GPUs of the same vendor: "));
}

TEST(FabricOf, by_nccl_gpus_of_two_vendors_are_not_paired) {
  std::vector<PeerNetwork> networks;
  for (const api::GpuVendor vendor : {api::GpuVendor::amd, api::GpuVendor::nvidia, api::GpuVendor::amd}) {
    networks.push_back(network_of(std::string(1, static_cast<char>('a' + networks.size())), {}));
    networks.back().network.gpus = 8;
    networks.back().network.gpu_vendor = vendor;
  }
  const auto fabric = fabric_of(networks, kByNccl, false);
  ASSERT_TRUE(fabric) << fabric.error().what;
  EXPECT_THAT(fabric->rails(), ElementsAre("amd-gpus-8", "gpus-8"));
  EXPECT_EQ(fabric->nic(0, 1), nullptr);
  networks.pop_back();
  EXPECT_FALSE(fabric_of(networks, kByNccl, false));
}

api::BandwidthAnswer answer_of(const api::BandwidthWay& to_peer, const api::BandwidthWay& from_peer) {
  return {.to_peer = to_peer, .from_peer = from_peer, .reason = "", .error = ""};
}

TEST(PairResultOf, seconds_are_taken_together_until_so_many_are_left) {
  const auto result = pair_result_of(7, 2,
                                     answer_of({.sent = 100, .received = 50, .samples = {50, 40, 30}},
                                               {.sent = 100, .received = 90, .samples = {90, 80}}));
  EXPECT_EQ(result.id, 7U);
  EXPECT_THAT(result.forward, ElementsAre(50, 35));
  EXPECT_THAT(result.backward, ElementsAre(90, 80));
  EXPECT_EQ(result.missing, std::nullopt);
}

// A line that stalls, or carries no data in one direction, is measured nevertheless.
TEST(PairResultOf, seconds_in_which_nothing_arrived_count) {
  const auto result = pair_result_of(
      0, 3, answer_of({.sent = 90, .received = 90, .samples = {0, 0, 270}}, {.sent = 0, .received = 0}));
  EXPECT_THAT(result.forward, ElementsAre(kNothingArrived, kNothingArrived, 270));
  EXPECT_THAT(result.backward, ElementsAre(kNothingArrived));
}

TEST(PairResultOf, reasons_of_a_missing_measurement_are_distinguished) {
  const auto missing = [](const std::string& reason) {
    return pair_result_of(0, 1,
                          api::BandwidthAnswer{.to_peer = {}, .from_peer = {}, .reason = reason, .error = ""})
        .missing;
  };
  EXPECT_EQ(missing("unreachable"), Missing::no_answer);
  for (const char* refusal :
       {"busy", "refused", "peer_vanished", "no_route", "no_driver", "no_library", "no_memory", "no_cuda"})
    EXPECT_EQ(missing(refusal), Missing::refused) << refusal;
  EXPECT_EQ(missing("timed_out"), Missing::no_answer);
  // By RDMA: a program that hangs is not evidence about the line.
  for (const char* nothing : {"internal", "no_end", "not_joined", "wrong_result"})
    EXPECT_EQ(missing(nothing), Missing::timed_out) << nothing;
  EXPECT_EQ(pair_result_of(0, 1, fail(Errc::conflict, "in use")).missing, Missing::refused);
}

// One server plays the agents of both nodes.
class BandwidthRunTest : public ::testing::Test {
 protected:
  BandwidthRunTest() {
    server_.route(
        "POST", api::kServersPath, [this](const net::HttpRequest& request, net::Responder responder) {
          const auto wanted = api::parse_servers_request(request.body);
          if (!wanted) return responder.respond(wanted.error());
          if (!wanted->rdma_port.empty()) return listen_for_rdma(*wanted, std::move(responder));
          if (wanted->gpus > 0) return wait_for_nccl(*wanted, std::move(responder));
          if (holds_servers_) return held_.push_back(std::move(responder));
          if (refusals_ > 0) {
            --refusals_;
            return responder.respond(Error{Errc::conflict, "net0 is in use"});
          }
          responder.respond({200, "application/json", api::to_json(api::ServersAnswer{"one", {5201}}), {}});
        });
    server_.route("POST", api::kBandwidthPath,
                  [this](const net::HttpRequest& request, net::Responder responder) {
                    const auto wanted = api::parse_bandwidth_request(request.body).value();
                    most_.insert(wanted.most);
                    memories_.insert(wanted.memory);
                    if (wanted.gpus > 0) return all_reduce(wanted, std::move(responder));
                    if (holds_measurement_) return held_.push_back(std::move(responder));
                    const api::BandwidthWay way{.sent = 1e9, .received = 1e9, .samples = {1e9}};
                    api::BandwidthAnswer answer{way, way, "", ""};
                    if (!wanted.rdma_port.empty()) answer.latency = api::BandwidthLatency{1.25, 1.5, 5};
                    responder.respond({200, "application/json", api::to_json(answer), {}});
                  });
    server_.route("DELETE", std::string(api::kServersPath) + "/{id}",
                  [this](const net::HttpRequest& request, net::Responder responder) {
                    ended_.push_back(request.parameters.at("id"));
                    responder.respond({200, "application/json", api::to_json(end_), {}});
                  });
    port_ = server_.listen_tcp("127.0.0.1:0").value();
  }
  void listen_for_rdma(const api::ServersRequest& wanted, net::Responder responder) {
    by_rdma_.insert(wanted.address + " " + wanted.rdma_port + " " + std::to_string(wanted.test_seconds) +
                    (wanted.memory == api::Memory::gpu ? " of a GPU" : ""));
    responder.respond(
        {200, "application/json", api::to_json(api::ServersAnswer{"rdma", {5201, 5202, 5203}}), {}});
  }
  void wait_for_nccl(const api::ServersRequest& wanted, net::Responder responder) {
    by_nccl_.insert(std::to_string(wanted.gpus) + " GPUs at " + wanted.address + " for " +
                    std::to_string(wanted.test_seconds));
    responder.respond(
        {200, "application/json", api::to_json(api::ServersAnswer{"nccl", {}, kRunNcclId}), {}});
  }
  // The first one comes out wrong, where one is to.
  void all_reduce(const api::BandwidthRequest& wanted, net::Responder responder) {
    EXPECT_EQ(wanted.nccl_id, kRunNcclId);
    const api::BandwidthWay way{.sent = 3e12, .received = 3e12, .samples = {3e12}};
    api::BandwidthAnswer answer{way, way, "", ""};
    if (!joining_reason_.empty()) answer = {{}, {}, joining_reason_, "because of " + joining_reason_};
    if (wrong_sums_ > 0) {
      --wrong_sums_;
      answer = {{}, {}, "wrong_result", "gpu 3: 119 in place of 136", {}, api::kWrongThere};
      wrong_at_ = wanted.node;
    }
    responder.respond({200, "application/json", api::to_json(answer), {}});
  }
  [[nodiscard]] BandwidthFound found() const {
    return {.fabric = run_->fabric(),
            .verdict = run_->verdict(),
            .problems = run_->problems(),
            .wrong = run_->wrong(),
            .pods = {"", ""},
            .latencies = run_->latencies(),
            .is_line_node = medium_.is_line_node};
  }
  void begin() {
    constexpr std::size_t kRate = 25'000'000'000;
    std::vector<PeerNetwork> networks{network_of("a", {{"net0", "10.1.0.1", 0, kRate}}, port_),
                                      network_of("b", {{"net0", "10.1.0.2", 0, kRate}}, port_)};
    for (PeerNetwork& network : networks)
      network.network.rdma = {{"mlx5_0/1", kRate, "", "0000:1b:00.0"}};
    for (PeerNetwork& network : networks)
      network.network.gpus = 8;
    auto pairs = PairRun::create(fabric_of(networks, medium_, false).value(), medium_.settings);
    ASSERT_TRUE(pairs) << pairs.error().what;
    run_.emplace(
        loop_, nullptr, medium_, networks, *std::move(pairs), most_percent_,
        BandwidthRun::Listener{.on_progress = [this](std::string said) { said_.insert(std::move(said)); },
                               .on_end = [this] { has_ended_ = true; },
                               .before_again = Duration{0}});
  }
  [[nodiscard]] bool run_until(const std::function<bool()>& is_so) {
    return net::testing::run_until(loop_, is_so);
  }
  void run() {
    begin();
    EXPECT_TRUE(run_until([this] { return has_ended_; }));
  }
  // The run goes, and its only pair is abandoned.
  void abandon() {
    auto pairs = run_->take_pairs();
    run_.reset();
    ASSERT_EQ(pairs.size(), 1U);
    pair_ = std::move(pairs.front());
    pair_->abandon([this] { is_abandoned_ = true; });
    EXPECT_FALSE(is_abandoned_);
  }

  net::EventLoop loop_;
  net::HttpServer server_{loop_, {}};
  std::uint16_t port_ = 0;
  int refusals_ = 0;
  int most_percent_ = 100;
  PairMedium medium_ = kByTcp;
  std::set<std::string> by_rdma_;  // requested servers: address, port, duration of the test
  std::set<std::string> by_nccl_;  // likewise
  int wrong_sums_ = 0;
  std::string joining_reason_;    // why no all-reduce is measured; empty: it is
  api::ServersEnd end_;           // of all servers
  std::string wrong_at_;          // the node
  std::set<std::uint64_t> most_;  // that tests were to take
  std::set<api::Memory> memories_;
  bool holds_servers_ = false;
  bool holds_measurement_ = false;
  std::vector<net::Responder> held_;
  std::vector<std::string> ended_;  // servers
  bool has_ended_ = false;
  bool is_abandoned_ = false;
  std::unique_ptr<PairExchange> pair_;
  std::set<std::string> said_;
  std::optional<BandwidthRun> run_;
};

TEST_F(BandwidthRunTest, a_pair_that_was_not_measured_is_tried_once_more) {
  refusals_ = 1;
  run();
  EXPECT_GT(run_->verdict().measured, 0U);
  EXPECT_THAT(run_->problems(), IsEmpty());
  EXPECT_THAT(
      said_, Contains(AllOf(StartsWith("round 1: 1 pair is measured again: "), HasSubstr("net0 is in use"))));
}

// A node that was measured in the first round may become a suspect, or be cleared, in the next round.
TEST_F(BandwidthRunTest, a_run_that_ends_early_reports_that_it_is_not_complete) {
  holds_measurement_ = true;
  begin();
  ASSERT_TRUE(run_until([this] { return held_.size() == 1; }));
  EXPECT_THAT(bandwidth_sentence(found()), HasSubstr("; not complete: "));
  const Observations told = bandwidth_observations(found(), {});
  const auto rest = std::ranges::find(told, "bandwidth.rest", &Observation::name);
  ASSERT_NE(rest, told.end());
  EXPECT_EQ(rest->value, std::nullopt);
  EXPECT_THAT(autopilot::to_string(rest->attributes.front().second), StartsWith("the test was ended before"));
}

TEST_F(BandwidthRunTest, for_unnamed_switches_it_names_the_setting) {
  run();
  BandwidthFound hidden = found();
  hidden.verdict.suspects.clear();
  hidden.verdict.hidden_leaves = {0};
  EXPECT_THAT(bandwidth_sentence(hidden), HasSubstr("the slow nodes on net0 cannot be determined; "));
  const Observations told = bandwidth_observations(hidden, {});
  const auto unknown = std::ranges::find(told, "bandwidth.comparison", &Observation::name);
  ASSERT_NE(unknown, told.end());
  EXPECT_EQ(unknown->value, std::nullopt);
  EXPECT_THAT(autopilot::to_string(unknown->attributes.front().second),
              StartsWith("net0: the slow pairs match nodes below different switches"));
}

TEST_F(BandwidthRunTest, a_run_that_reaches_its_end_is_complete) {
  run();
  EXPECT_THAT(bandwidth_sentence(found()), Not(HasSubstr("not complete")));
  for (const Observation& one : bandwidth_observations(found(), {}))
    EXPECT_NE(one.name, "bandwidth.rest");
}

TEST_F(BandwidthRunTest, a_pair_that_was_running_is_not_a_line_without_data) {
  holds_measurement_ = true;
  begin();
  ASSERT_TRUE(run_until([this] { return !held_.empty(); }));
  std::size_t ways = 0;
  for (const Observation& one : bandwidth_observations(found(), {})) {
    if (one.name != "bandwidth.received") continue;
    ++ways;
    EXPECT_EQ(one.value, std::nullopt);
    EXPECT_EQ(one.attributes.back().second, Value{std::string("the test was ended before")});
  }
  EXPECT_EQ(ways, 2U);
}

TEST_F(BandwidthRunTest, why_it_cannot_be_measured_is_known) {
  refusals_ = 1000;
  run();
  EXPECT_EQ(run_->verdict().measured, 0U);
  ASSERT_FALSE(run_->problems().empty());
  EXPECT_THAT(run_->problems().begin()->second, HasSubstr("net0 is in use"));
}

TEST_F(BandwidthRunTest, a_test_takes_what_the_line_carries) {
  run();
  EXPECT_THAT(most_, ElementsAre(0U));
}

TEST_F(BandwidthRunTest, or_a_share_of_its_rate_where_others_use_it_as_well) {
  most_percent_ = 20;
  run();
  EXPECT_THAT(most_, ElementsAre(5'000'000'000U));
}

TEST_F(BandwidthRunTest, servers_of_an_abandoned_measurement_are_ended) {
  holds_measurement_ = true;
  begin();
  ASSERT_TRUE(run_until([this] { return !held_.empty(); }));
  abandon();
  ASSERT_TRUE(run_until([this] { return is_abandoned_; }));
  EXPECT_THAT(ended_, ElementsAre("one"));
}

TEST_F(BandwidthRunTest, and_servers_that_only_begin_to_listen) {
  holds_servers_ = true;
  begin();
  ASSERT_TRUE(run_until([this] { return !held_.empty(); }));
  abandon();
  held_.front().respond({200, "application/json", api::to_json(api::ServersAnswer{"late", {5201}}), {}});
  ASSERT_TRUE(run_until([this] { return is_abandoned_; }));
  EXPECT_THAT(ended_, ElementsAre("late"));
}

TEST_F(BandwidthRunTest, where_no_server_listens_there_is_none_to_end) {
  holds_servers_ = true;
  begin();
  ASSERT_TRUE(run_until([this] { return !held_.empty(); }));
  abandon();
  held_.front().respond(Error{Errc::conflict, "net0 is in use"});
  ASSERT_TRUE(run_until([this] { return is_abandoned_; }));
  EXPECT_THAT(ended_, IsEmpty());
}

TEST_F(BandwidthRunTest, by_rdma_ports_are_named_and_the_latency_is_kept) {
  medium_ = kByRdma;
  run();
  EXPECT_GT(run_->verdict().measured, 0U);
  EXPECT_THAT(by_rdma_, ::testing::Each(::testing::MatchesRegex("10.1.0.[12] mlx5_0/1 [1-9]")));
  ASSERT_FALSE(run_->latencies().empty());
  EXPECT_EQ(run_->latencies().begin()->second.typical, 1.25);
  int told = 0;
  for (const Observation& one : bandwidth_observations(found(), {}))
    for (const auto& [name, value] : one.attributes)
      if (name == "latency_microseconds") told += value == Value{1.25} ? 1 : 100;
  EXPECT_EQ(told, 1);
}

// One process is one processor, which does not fill a fast line.
TEST(PairsByTcp, have_as_many_processes_as_the_line_needs) {
  constexpr std::size_t kGigabit = 1'000'000'000;
  const auto processes = [](std::size_t gigabits) -> std::size_t {
    const auto node = [gigabits](const std::string& name, const std::string& address) {
      return network_of(name, {{"eth0", "10.9.0.1", 0, kGigabit}, {"ib0", address, 0, gigabits * kGigabit}});
    };
    const auto wish = kByTcp.wish_of(node("a", "10.1.0.1"), "ib0", node("b", "10.1.0.2"), "ib0");
    return wish ? wish->processes : 0;
  };
  EXPECT_EQ(processes(0), 1U) << "of a line of unknown rate";
  EXPECT_EQ(processes(10), 1U);
  EXPECT_EQ(processes(25), 2U);
  EXPECT_EQ(processes(100), 5U);
  EXPECT_EQ(processes(400), 8U);
}

// In the first network that both are in, whatever else one of them has.
TEST_F(BandwidthRunTest, by_rdma_they_agree_over_a_network_that_both_are_in) {
  auto source = network_of("a", {{"bond0", "10.9.0.1"}, {"eno1", "fd00::1"}, {"eno1", "10.1.0.1"}});
  auto destination = network_of("b", {{"eno1", "10.1.0.2"}, {"ens2", "10.8.0.2"}});
  const auto wish = kByRdma.wish_of(source, "mlx5_0/1", destination, "mlx5_0/1");
  ASSERT_TRUE(wish) << wish.error().what;
  EXPECT_EQ(wish->source.address, "10.1.0.1");
  EXPECT_EQ(wish->destination.address, "10.1.0.2");
  destination.network.addresses = {{"ens2", "10.8.0.2"}};
  EXPECT_EQ(kByRdma.wish_of(source, "mlx5_0/1", destination, "mlx5_0/1")->destination.address, "127.0.0.1");
  destination.peer.address = "fd00::2";
  EXPECT_FALSE(kByRdma.wish_of(source, "mlx5_0/1", destination, "mlx5_0/1"));
}

TEST_F(BandwidthRunTest, by_rdma_a_node_without_ipv4_has_no_line) {
  auto network = network_of("a", {{"eno1", "fd00::1"}});
  network.network.rdma = {{"mlx5_0/1"}};
  EXPECT_THAT(kByRdma.lines_of(network.network), IsEmpty());
  network.network.addresses.push_back({"eno1", "10.1.0.1"});
  EXPECT_EQ(kByRdma.lines_of(network.network).size(), 1U);
}

TEST_F(BandwidthRunTest, out_of_the_memory_of_gpus_both_ends_are_asked_for_it) {
  medium_ = kByRdmaOfGpus;
  run();
  EXPECT_GT(run_->verdict().measured, 0U);
  EXPECT_THAT(by_rdma_, ::testing::Each(::testing::MatchesRegex("10.1.0.[12] mlx5_0/1 [1-9] of a GPU")));
  EXPECT_THAT(memories_, ElementsAre(api::Memory::gpu));
}

// A GPU is in one test at a time, and a port without one has another path than the others.
TEST_F(BandwidthRunTest, out_of_the_memory_of_gpus_each_gpu_has_one_port) {
  auto network = network_of("a", {{"eno1", "10.1.0.1"}});
  network.network.rdma = {{"mlx5_0/1", 0, "", "0000:1b:00.0"},
                          {"mlx5_1/1"},
                          {"mlx5_2/1", 0, "", "0000:2b:00.0"},
                          {"mlx5_3/1", 0, "", "0000:1b:00.0"}};
  std::vector<std::string> ports;
  for (const Line& line : kByRdmaOfGpus.lines_of(network.network))
    ports.push_back(line.interface);
  EXPECT_THAT(ports, ElementsAre("mlx5_0/1", "mlx5_2/1"));
  EXPECT_EQ(kByRdma.lines_of(network.network).size(), 4U);
  network.network.addresses = {{"eno1", "fd00::1"}};
  EXPECT_THAT(kByRdmaOfGpus.lines_of(network.network), IsEmpty());
}

TEST_F(BandwidthRunTest, by_nccl_both_directions_have_one_figure) {
  medium_ = kByNccl;
  run();
  EXPECT_GT(run_->verdict().measured, 0U);
  EXPECT_THAT(by_nccl_, ::testing::Each(::testing::MatchesRegex("8 GPUs at 10.1.0.[12] for [1-9]")));
  const Cell cell = run_->verdict().cells.front();
  EXPECT_EQ(cell.forward, 3e12);
  EXPECT_EQ(cell.forward, cell.backward);
}

// Though the second try is right: what a job learned between them is wrong.
TEST_F(BandwidthRunTest, a_wrong_sum_is_reported_once_and_nothing_else_of_the_pair) {
  medium_ = kByNccl;
  wrong_sums_ = 1;
  run();
  EXPECT_THAT(bandwidth_sentence(found()), HasSubstr("what GPUs summed up was wrong in 1 of them"));
  int told = 0;
  for (const Observation& one : bandwidth_observations(found(), {})) {
    EXPECT_NE(one.name, "bandwidth.received");
    if (one.name != "bandwidth.wrong") continue;
    ++told;
    EXPECT_THAT(one.subject.key, ::testing::AnyOf("a/gpus-8|b/gpus-8", "b/gpus-8|a/gpus-8"));
    EXPECT_EQ(one.attributes[3].second, Value{"gpu 3: 119 in place of 136"});
    EXPECT_EQ(one.attributes[4].second, Value{wrong_at_});
  }
  EXPECT_EQ(told, 1);
}

// One figure is for a whole node.
TEST_F(BandwidthRunTest, by_nccl_the_waiting_endpoint_states_why_it_ended) {
  medium_ = kByNccl;
  joining_reason_ = "peer_vanished";
  end_ = {"not_joined", "only 8 of 16 ranks joined in time", ""};
  run();
  ASSERT_FALSE(run_->problems().empty());
  EXPECT_EQ(run_->problems().begin()->second, "only 8 of 16 ranks joined in time");
}

TEST_F(BandwidthRunTest, by_nccl_the_reason_of_the_joining_endpoint_remains) {
  medium_ = kByNccl;
  joining_reason_ = "no_library";
  end_ = {"peer_vanished", "another rank has ended", ""};
  run();
  ASSERT_FALSE(run_->problems().empty());
  EXPECT_EQ(run_->problems().begin()->second, "because of no_library");
}

TEST_F(BandwidthRunTest, by_nccl_a_suspect_is_a_node) {
  medium_ = kByNccl;
  run();
  BandwidthFound slow = found();
  Suspect suspect;
  suspect.rail = 0;
  suspect.kind = SuspectKind::nic;
  suspect.nodes = {1};
  slow.verdict.suspects.push_back(suspect);
  suspect.kind = SuspectKind::link;
  suspect.nodes = {0, 1};
  slow.verdict.suspects.push_back(suspect);
  std::vector<std::string> suspects;
  for (const Observation& one : bandwidth_observations(slow, {}))
    if (one.name == "bandwidth.suspect")
      suspects.push_back(autopilot::to_string(one.subject) + " " +
                         autopilot::to_string(one.attributes.front().second));
  EXPECT_THAT(suspects, ElementsAre("peer/b node", "link/a/gpus-8|b/gpus-8 link"));
}

TEST_F(BandwidthRunTest, by_tcp_it_is_a_port_and_what_was_not_tested_of_it_has_the_same_name) {
  run();
  BandwidthFound slow = found();
  Suspect suspect;
  suspect.rail = 0;
  suspect.kind = SuspectKind::nic_sends;
  suspect.nodes = {1};
  slow.verdict.suspects.push_back(suspect);
  slow.left_out.push_back({.node = "b", .line = "net0", .why = "is down", .is_missed = true});
  std::vector<std::string> told;
  for (const Observation& one : bandwidth_observations(slow, {}))
    if (one.subject.kind == SubjectKind::nic_port)
      told.push_back(one.name.text() + " " + to_string(one.subject));
  EXPECT_THAT(told, ElementsAre("bandwidth.suspect nic_port/b:net0", "bandwidth.left_out nic_port/b:net0"));
}

TEST_F(BandwidthRunTest, by_nccl_they_begin_over_a_network_that_both_are_in) {
  auto source = network_of("a", {{"bond0", "10.9.0.1"}, {"eno1", "10.1.0.1"}, {"eno1", "fd00::1"}});
  auto destination = network_of("b", {{"eno1", "fd00::2"}, {"ens2", "10.8.0.2"}});
  source.network.gpus = 4;
  const auto wish = kByNccl.wish_of(source, "gpus-4", destination, "gpus-4");
  ASSERT_TRUE(wish) << wish.error().what;
  EXPECT_EQ(wish->gpus, 4U);
  EXPECT_EQ(wish->source.address, "fd00::1");
  EXPECT_EQ(wish->destination.address, "fd00::2");
  destination.network.addresses = {{"ens2", "10.8.0.2"}};
  EXPECT_EQ(kByNccl.wish_of(source, "gpus-4", destination, "gpus-4")->source.address, "127.0.0.1");
  // Management has the first name, and no data of a job.
  constexpr std::size_t kGigabit = 1'000'000'000;
  source.network.addresses = {
      {"eno1", "10.1.0.1", 0, kGigabit}, {"ens1", "10.2.0.1", 0, 200 * kGigabit}, {"ens2", "10.3.0.1"}};
  destination.network.addresses = {
      {"eno1", "10.1.0.2", 0, kGigabit}, {"ens1", "10.2.0.2", 0, 200 * kGigabit}, {"ens2", "fd00::2"}};
  EXPECT_EQ(kByNccl.wish_of(source, "gpus-4", destination, "gpus-4")->source.address, "10.2.0.1");
}

TEST_F(BandwidthRunTest, a_pair_that_cannot_be_requested_reports_the_reason) {
  medium_ = kByRdma;
  medium_.wish_of = [](const PeerNetwork&, const std::string&, const PeerNetwork&,
                       const std::string&) -> Result<PairExchange::Wish> {
    return fail(Errc::unavailable, "they have nothing in common");
  };
  run();
  EXPECT_EQ(run_->verdict().measured, 0U);
  ASSERT_FALSE(run_->problems().empty());
  EXPECT_EQ(run_->problems().begin()->second, "they have nothing in common");
}

}  // namespace
}  // namespace autopilot::nettest
