// SPDX-License-Identifier: Apache-2.0
#include "nettest/run/ping_observations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/observation.hpp"

namespace autopilot::nettest {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

PeerNetwork network(const std::string& node, std::vector<api::NetworkAddress> addresses) {
  return {{node, "10.9.0.1", 3333}, {node, "", std::move(addresses)}, ""};
}

PeerEcho echo(const std::string& address, const std::string& interface, unsigned answered = 5,
              Duration median = 100us) {
  PeerEcho made{.address = address, .interface = interface, .interface_mtu = 9000};
  made.figures = {.sent = 5,
                  .answered = answered,
                  .shortest = median,
                  .median = median,
                  .p99 = median,
                  .longest = median};
  return made;
}

// Three nodes with an address in each of two networks; all answer.
PingRound healthy_round() {
  PingRound round{.node = "node-a",
                  .pod = "autopilot-x1",
                  .others = 99,
                  .networks = {},
                  .addresses = {},
                  .echoes = {},
                  .ended = {}};
  for (const std::string n : {"2", "3", "4"})
    round.networks.push_back(
        network("node-" + n, {{"eth0", "10.1.0." + n, 9000}, {"net1", "10.2.0." + n, 9000}}));
  round.addresses = ping_addresses(round.networks);
  for (const PingAddress& one : round.addresses)
    round.echoes.push_back(echo(one.address, one.interface));
  return round;
}

const Observation* find(const Observations& all, const std::string& subject, const std::string& name) {
  const auto found = std::ranges::find_if(
      all, [&](const Observation& one) { return to_string(one.subject) == subject && one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

double number(const Observations& all, const std::string& subject, const std::string& name) {
  const Observation* const found = find(all, subject, name);
  return found == nullptr ? -1 : as_number(*found->value).value_or(-2);
}

std::vector<std::string> subjects(const Observations& all, SubjectKind kind) {
  std::vector<std::string> found;
  for (const Observation& one : all)
    if (one.subject.kind == kind && (found.empty() || found.back() != one.subject.key))
      found.push_back(one.subject.key);
  return found;
}

TEST(PingObservations, a_healthy_round_has_observations_of_nodes_and_interfaces_and_of_no_path) {
  const auto all = ping_observations(healthy_round());
  EXPECT_EQ(autopilot::to_string(*find(all, "host", "ping.outcome")->value), "ended");
  EXPECT_EQ(attribute_text(*find(all, "host", "ping.outcome"), "pod"), "autopilot-x1");
  EXPECT_EQ(attribute_text(*find(all, "host", "ping.outcome"), "others"), "99");
  EXPECT_THAT(subjects(all, SubjectKind::peer), ElementsAre("node-2", "node-3", "node-4"));
  EXPECT_EQ(number(all, "peer/node-2", "ping.silent"), 0);
  EXPECT_EQ(attribute_text(*find(all, "peer/node-2", "ping.silent"), "addresses"),
            "eth0=10.1.0.2 net1=10.2.0.2");
  EXPECT_EQ(number(all, "nic_port/net1", "ping.asked.ipv4"), 3);
  EXPECT_EQ(number(all, "nic_port/net1", "ping.unanswered.ipv4"), 0);
  EXPECT_DOUBLE_EQ(number(all, "nic_port/net1", "ping.latency_median.ipv4"), 0.0001);
  EXPECT_THAT(subjects(all, SubjectKind::link), IsEmpty());
}

// Addresses of a family that this node does not speak, or of a network that it is not in.
TEST(PingObservations, a_node_without_a_path_to_it_did_not_answer_and_is_not_silent) {
  auto round = healthy_round();
  for (const std::size_t i : {2U, 3U}) {
    round.echoes[i].interface.clear();
    round.echoes[i].figures = {};
  }
  const auto all = ping_observations(round);
  const Observation& told = *find(all, "peer/node-3", "ping.silent");
  EXPECT_FALSE(told.value);
  EXPECT_EQ(told.missing, "no_way");
  EXPECT_EQ(attribute_text(told, "error"), "this node has no path to node-3 at eth0=10.1.0.3 net1=10.2.0.3");
  EXPECT_EQ(number(all, "peer/node-2", "ping.silent"), 0);
  EXPECT_EQ(ping_sentence(round),
            "3 nodes asked at 6 addresses: 1 node could not be asked, the others answer");
  round.echoes[0].figures = {.sent = 25};
  EXPECT_EQ(
      ping_sentence(round),
      "3 nodes asked at 6 addresses: 1 node could not be asked, 1 node does not answer at some of them");
  // A socket that was full, or a rule of this machine against it.
  round.echoes[3] = healthy_round().echoes[3];
  round.echoes[3].figures = {};
  EXPECT_EQ(find(ping_observations(round), "peer/node-3", "ping.silent")->missing, "not_asked");
  round.echoes[3] = healthy_round().echoes[3];
  const auto half = ping_observations(round);
  EXPECT_EQ(number(half, "peer/node-3", "ping.silent"), 0);
  EXPECT_EQ(attribute_text(*find(half, "peer/node-3", "ping.silent"), "unasked"), "eth0");
}

TEST(PingObservations, a_silent_address_is_reported_with_the_interface_of_the_question) {
  auto round = healthy_round();
  round.echoes[3].figures = {.sent = 25};
  round.echoes[3].problem = "No route to host";
  const auto all = ping_observations(round);
  EXPECT_EQ(number(all, "peer/node-3", "ping.silent"), 1);
  const Observation& silent = *find(all, "peer/node-3", "ping.silent");
  EXPECT_EQ(attribute_text(silent, "silent"), "net1");
  EXPECT_EQ(attribute_text(silent, "through"), "net1");
  EXPECT_EQ(attribute_text(silent, "problem"), "No route to host");
  EXPECT_EQ(number(all, "nic_port/net1", "ping.unanswered.ipv4"), 1);
  EXPECT_THAT(nodes_to_ask_again(round), ElementsAre("node-3"));
  EXPECT_EQ(ping_sentence(round), "3 nodes asked at 6 addresses: 1 node does not answer at some of them");
}

TEST(PingObservations, an_unusual_path_is_reported_with_all_its_numbers) {
  auto round = healthy_round();
  round.echoes[0].figures = {.sent = 25, .answered = 20, .duplicates = 5, .out_of_order = 2, .median = 300us};
  round.echoes[0].path_mtu = 1500;
  const auto all = ping_observations(round);
  const std::string link = "link/node-a/eth0|node-2/eth0";
  EXPECT_DOUBLE_EQ(number(all, link, "ping.loss"), 0.2);
  EXPECT_DOUBLE_EQ(number(all, link, "ping.duplicates"), 0.25);
  EXPECT_DOUBLE_EQ(number(all, link, "ping.out_of_order"), 0.1);
  EXPECT_DOUBLE_EQ(number(all, link, "ping.latency"), 0.0003);
  EXPECT_DOUBLE_EQ(number(all, link, "ping.latency_of_others"), 0.0001);
  EXPECT_EQ(number(all, link, "ping.interface_mtu"), 9000);
  EXPECT_EQ(number(all, link, "ping.path_mtu"), 1500);
  EXPECT_EQ(attribute_text(*find(all, link, "ping.loss"), "interface"), "eth0");
  EXPECT_EQ(attribute_text(*find(all, link, "ping.loss"), "node"), "node-2");
  EXPECT_THAT(nodes_to_ask_again(round), ElementsAre("node-2"));
}

TEST(PingObservations, a_path_with_a_much_longer_latency_than_the_others_is_reported) {
  auto round = healthy_round();
  round.echoes[2].figures.median = 401us;
  round.echoes[5].figures.median = 399us;
  EXPECT_THAT(subjects(ping_observations(round), SubjectKind::link), ElementsAre("node-a/eth0|node-3/eth0"));
}

// IBM's clients see net1-0 and net1-1.
TEST(PingObservations, several_addresses_of_one_interface_have_numbers) {
  PingRound round{
      .node = "node-a", .pod = "", .others = 0, .networks = {}, .addresses = {}, .echoes = {}, .ended = {}};
  round.networks = {network("node-b", {{"eth0", "10.1.0.7"}, {"net1", "10.2.0.7"}, {"net1", "10.2.1.7"}})};
  round.addresses = ping_addresses(round.networks);
  for (const PingAddress& one : round.addresses)
    round.echoes.push_back(echo(one.address, "eth0"));
  EXPECT_EQ(attribute_text(*find(ping_observations(round), "peer/node-b", "ping.silent"), "addresses"),
            "eth0=10.1.0.7 net1-0=10.2.0.7 net1-1=10.2.1.7");
}

TEST(PingObservations, families_are_distinguished) {
  PingRound round{
      .node = "node-a", .pod = "", .others = 0, .networks = {}, .addresses = {}, .echoes = {}, .ended = {}};
  round.networks = {network("node-b", {{"eth0", "10.1.0.7"}, {"eth0", "fd00::7"}})};
  round.addresses = ping_addresses(round.networks);
  round.echoes = {echo("10.1.0.7", "eth0"), echo("fd00::7", "eth0", 0)};
  const auto all = ping_observations(round);
  EXPECT_EQ(number(all, "nic_port/eth0", "ping.unanswered.ipv4"), 0);
  EXPECT_EQ(number(all, "nic_port/eth0", "ping.unanswered.ipv6"), 1);
  EXPECT_EQ(attribute_text(*find(all, "peer/node-b", "ping.silent"), "silent"), "eth0-1");
}

// Nodes without GPUs are not in the networks of nodes with GPUs.
TEST(PingObservations, an_address_in_a_network_that_this_node_is_not_in_is_not_silent) {
  PingRound round{
      .node = "node-a", .pod = "", .others = 0, .networks = {}, .addresses = {}, .echoes = {}, .ended = {}};
  round.networks = {network("node-b", {{"ib0", "10.3.0.7"}})};
  round.addresses = ping_addresses(round.networks);
  round.echoes = {echo("10.3.0.7", "", 0)};
  round.echoes[0].problem = "Network is unreachable";
  const auto all = ping_observations(round);
  EXPECT_EQ(find(all, "peer/node-b", "ping.silent")->missing, "no_way");
  EXPECT_THAT(subjects(all, SubjectKind::nic_port), IsEmpty());
  EXPECT_THAT(nodes_to_ask_again(round), IsEmpty());
}

// What the snapshot of a node holds does not grow with the square of the cluster.
TEST(PingObservations, a_round_of_a_thousand_nodes_has_as_many_observations) {
  PingRound round{
      .node = "node-a", .pod = "", .others = 0, .networks = {}, .addresses = {}, .echoes = {}, .ended = {}};
  for (int n = 0; n < 1000; ++n)
    round.networks.push_back(network("node-" + std::to_string(n), {{"eth0", "10.1.0.7"}}));
  round.addresses = ping_addresses(round.networks);
  for (std::size_t i = 0; i < round.addresses.size(); ++i)
    round.echoes.push_back(echo("10.1.0.7", "eth0"));
  EXPECT_LT(ping_observations(round).size(), 1010U);
}

// A full socket or a passed deadline: nothing was sent, and there is no error.
TEST(PingObservations, an_address_that_could_not_be_asked_is_not_silent) {
  auto round = healthy_round();
  round.echoes[3].figures = {};
  const auto all = ping_observations(round);
  EXPECT_EQ(number(all, "peer/node-3", "ping.silent"), 0);
  EXPECT_EQ(number(all, "nic_port/net1", "ping.unanswered.ipv4"), 0);
  EXPECT_THAT(nodes_to_ask_again(round), IsEmpty());
  round.echoes[3].problem = "No route to host";
  EXPECT_EQ(number(ping_observations(round), "peer/node-3", "ping.silent"), 1);
}

// The helper failed for some addresses: they are not silent, and do not lack a path.
TEST(PingObservations, addresses_that_were_not_asked_have_the_reason) {
  auto round = healthy_round();
  for (const std::size_t i : {2U, 3U})
    round.echoes[i] = {
        .address = round.echoes[i].address, .way = EchoWay::none, .problem = "the helper died"};
  const auto all = ping_observations(round);
  const Observation& told = *find(all, "peer/node-3", "ping.silent");
  EXPECT_EQ(told.missing, "not_asked");
  EXPECT_EQ(attribute_text(told, "error"),
            "this node could not ask node-3 at eth0=10.1.0.3 net1=10.2.0.3: the helper died");
  EXPECT_EQ(number(all, "nic_port/eth0", "ping.asked.ipv4"), 2);
  EXPECT_EQ(ping_sentence(round),
            "3 nodes asked at 6 addresses: 1 node could not be asked, the others answer");
}

// A question that could not be sent in one family does not hide missing answers in the other.
TEST(PingObservations, an_address_that_could_not_be_asked_does_not_count_as_asked) {
  PingRound round = healthy_round();
  for (PeerEcho& one : round.echoes)
    if (one.interface == "net1") one.figures = {.sent = 5};
  round.echoes.back().figures = {};
  const auto all = ping_observations(round);
  EXPECT_EQ(number(all, "nic_port/net1", "ping.asked.ipv4"), 2);
  EXPECT_EQ(number(all, "nic_port/net1", "ping.asked_nodes.ipv4"), 2);
  EXPECT_EQ(number(all, "nic_port/net1", "ping.unanswered.ipv4"), 2);
  EXPECT_EQ(number(all, "nic_port/eth0", "ping.asked.ipv4"), 3);
}

TEST(PingObservations, nodes_are_counted_once_for_each_interface) {
  PingRound round{
      .node = "node-a", .pod = "", .others = 0, .networks = {}, .addresses = {}, .echoes = {}, .ended = {}};
  round.networks = {network("node-b", {{"eth0", "10.1.0.7"}, {"net1", "10.2.0.7"}, {"net2", "10.3.0.7"}})};
  round.addresses = ping_addresses(round.networks);
  for (const PingAddress& one : round.addresses)
    round.echoes.push_back(echo(one.address, "eth0"));
  const auto all = ping_observations(round);
  EXPECT_EQ(number(all, "nic_port/eth0", "ping.asked.ipv4"), 3);
  EXPECT_EQ(number(all, "nic_port/eth0", "ping.asked_nodes.ipv4"), 1);
}

TEST(PingObservations, a_node_that_is_alone_reports_no_targets) {
  const auto all = no_ping_targets("autopilot-x1", {});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(autopilot::to_string(*all[0].value), "no_targets");
}

}  // namespace
}  // namespace autopilot::nettest
