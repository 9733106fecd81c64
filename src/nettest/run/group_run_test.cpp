// SPDX-License-Identifier: Apache-2.0
#include "nettest/run/group_run.hpp"

#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/bandwidth.hpp"
#include "net/http_server.hpp"
#include "nettest/run/group_observations.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::nettest {
namespace {

using namespace std::chrono_literals;

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

const std::string kGroupNcclId(api::kNcclIdLength, 'a');

// One server plays the agents of all nodes, which differ in their addresses.
class GroupRunTest : public ::testing::Test {
 protected:
  void SetUp() override {
    server_.route("POST", api::kServersPath,
                  [this](const net::HttpRequest& request, net::Responder responder) {
                    const auto wanted = api::parse_servers_request(request.body).value();
                    asked_.push_back(wanted.address + " waits for " + std::to_string(wanted.ranks));
                    if (is_slow_to_wait_) return held_.push_back(std::move(responder));
                    if (is_busy(wanted.address))
                      return responder.respond(Error{Errc::conflict, "in another test"});
                    responder.respond({200,
                                       "application/json",
                                       api::to_json(api::ServersAnswer{wanted.address, {}, kGroupNcclId}),
                                       {}});
                  });
    server_.route("POST", api::kBandwidthPath,
                  [this](const net::HttpRequest& request, net::Responder responder) {
                    const auto wanted = api::parse_bandwidth_request(request.body).value();
                    asked_.push_back(wanted.address + " joins " + wanted.to + " from " +
                                     std::to_string(wanted.first_rank));
                    if (is_busy(wanted.address))
                      return responder.respond(Error{Errc::conflict, "in another test"});
                    if (refuses_last_ && wanted.first_rank + wanted.gpus == wanted.ranks)
                      return responder.respond(Error{Errc::denied, "not you"});
                    if (is_held_ && !answers_.contains(wanted.address))
                      return held_.push_back(std::move(responder));
                    responder.respond({200, "application/json", api::to_json(said_by(wanted.address)), {}});
                  });
    server_.route("DELETE", std::string(api::kServersPath) + "/{id}",
                  [this](const net::HttpRequest& request, net::Responder responder) {
                    asked_.push_back(request.parameters.at("id") + " ends");
                    responder.respond({200, "application/json", api::to_json(end_), {}});
                    for (net::Responder& held : held_)
                      held.respond({200, "application/json", api::to_json(failed("peer_vanished")), {}});
                    held_.clear();
                    is_held_ = false;
                  });
    port_ = server_.listen_tcp("127.0.0.1:0").value();
  }

  bool is_busy(const std::string& address) {
    return busy_.contains(address) || busy_once_.erase(address) > 0;
  }
  static api::BandwidthAnswer failed(const std::string& reason) {
    return {.to_peer = {}, .from_peer = {}, .reason = reason, .error = "because of " + reason};
  }
  [[nodiscard]] api::BandwidthAnswer said_by(const std::string& address) const {
    if (const auto found = answers_.find(address); found != answers_.end()) return found->second;
    const api::BandwidthWay way{.sent = 3e12, .received = 3e12, .samples = {3e12}};
    return {way, way, "", ""};
  }
  void begin(const std::vector<std::string>& leaves, Duration before_again = Duration{0}) {
    std::vector<PeerNetwork> networks;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      const std::string number = std::to_string(i + 1);
      PeerNetwork& network = networks.emplace_back();
      network.peer = {.node = "n" + number, .address = "127.0.0.1", .port = port_};
      network.network = {"n" + number, "", {{"net0", "10.1.0." + number}}, leaves[i]};
      network.network.gpus = 8;
    }
    run_.emplace(
        loop_, nullptr, group_steps(networks),
        GroupRun::Listener{.on_progress = [this](std::string text) { said_.push_back(std::move(text)); },
                           .on_end = [this] { has_ended_ = true; },
                           .before_again = before_again});
  }
  void run(const std::vector<std::string>& leaves) {
    begin(leaves);
    ASSERT_TRUE(run_until([this] { return has_ended_; }));
  }
  [[nodiscard]] bool run_until(const std::function<bool()>& is_so) {
    return net::testing::run_until(loop_, is_so);
  }
  [[nodiscard]] GroupsFound found() const { return {run_->found(), run_->left_out()}; }

  net::EventLoop loop_;
  net::HttpServer server_{loop_, {}};
  std::uint16_t port_ = 0;
  std::set<std::string> busy_;                           // addresses of nodes that say no
  std::set<std::string> busy_once_;                      // likewise, the first time
  bool refuses_last_ = false;                            // the endpoint with the last ranks refuses
  std::map<std::string, api::BandwidthAnswer> answers_;  // of others than a good one, by address
  api::ServersEnd end_;
  bool is_held_ = false;  // joining endpoints answer when the waiting endpoint ends
  bool is_slow_to_wait_ = false;
  std::vector<net::Responder> held_;
  std::vector<std::string> asked_;
  std::vector<std::string> said_;
  bool has_ended_ = false;
  std::optional<GroupRun> run_;
};

TEST_F(GroupRunTest, one_waits_and_the_others_join_it_with_ranks_of_their_own) {
  run({"", "", ""});
  EXPECT_THAT(asked_, UnorderedElementsAre("10.1.0.1 waits for 24", "10.1.0.2 joins 10.1.0.1 from 8",
                                           "10.1.0.3 joins 10.1.0.1 from 16", "10.1.0.1 ends"));
  ASSERT_EQ(run_->found().size(), 1U);
  EXPECT_EQ(run_->found()[0].bus, 3e12);
  EXPECT_EQ(group_sentence(found()), "all nodes: 3000 Gbit/s by 24 GPUs of 3 nodes");
  EXPECT_THAT(said_, ElementsAre("all nodes: 24 GPUs of 3 nodes sum up together"));
}

TEST_F(GroupRunTest, the_lowest_that_one_of_them_saw_counts) {
  const api::BandwidthWay slow{.sent = 2e12, .received = 2e12};
  answers_["10.1.0.2"] = {slow, slow, "", ""};
  run({"", "", ""});
  EXPECT_EQ(run_->found()[0].bus, 2e12);
}

TEST_F(GroupRunTest, leaves_sum_up_at_once_and_then_all) {
  run({"L1", "L2", "L1", "L2"});
  ASSERT_EQ(run_->found().size(), 3U);
  EXPECT_EQ(run_->found()[2].group.name, "all nodes");
  EXPECT_THAT(said_, ElementsAre("below each of 2 leaves: 32 GPUs of 4 nodes sum up together",
                                 "all nodes: 32 GPUs of 4 nodes sum up together"));
}

TEST_F(GroupRunTest, a_node_that_refuses_is_left_out_also_later) {
  busy_ = {"10.1.0.1", "10.1.0.4"};
  run({"L1", "L2", "L1", "L2", "L1", "L2"});
  ASSERT_EQ(run_->found().size(), 3U);
  for (const GroupFound& one : run_->found())
    EXPECT_EQ(one.bus, 3e12) << one.problem;
  EXPECT_EQ(run_->found()[2].group.members.size(), 4U);
  EXPECT_THAT(run_->left_out(), UnorderedElementsAre(Pair("n1", HasSubstr("in another test")),
                                                     Pair("n4", HasSubstr("in another test"))));
  EXPECT_THAT(said_, Contains(StartsWith("leaf L1: again: n1: ")));
  EXPECT_THAT(said_, Contains(StartsWith("leaf L1: again, without the nodes that take no part: n1: ")));
  const Observations told = group_observations(found(), {});
  EXPECT_EQ(told.back().subject.key, "n4");
  EXPECT_EQ(told.back().missing, "left_out");
}

// A node that measured before may still be ending that test.
TEST_F(GroupRunTest, a_node_that_is_in_use_is_asked_once_more) {
  busy_once_ = {"10.1.0.1", "10.1.0.3"};
  run({"", "", ""});
  EXPECT_THAT(run_->left_out(), IsEmpty());
  EXPECT_EQ(run_->found()[0].bus, 3e12);
}

TEST_F(GroupRunTest, however_many_say_no_the_others_sum_up) {
  busy_ = {"10.1.0.1", "10.1.0.2", "10.1.0.3", "10.1.0.5", "10.1.0.6", "10.1.0.8"};
  run({"", "", "", "", "", "", "", "", ""});
  EXPECT_EQ(run_->left_out().size(), busy_.size());
  ASSERT_EQ(run_->found().size(), 1U);
  EXPECT_EQ(run_->found()[0].bus, 3e12) << run_->found()[0].problem;
  EXPECT_EQ(run_->found()[0].group.members.size(), 3U);
}

// The others wait for it until they are stopped; their errors after that do not count against them.
TEST_F(GroupRunTest, nodes_that_wait_for_a_refusing_node_are_not_left_out) {
  is_held_ = true;
  answers_["10.1.0.3"] = failed("no_library");
  begin({"", "", ""});
  ASSERT_TRUE(run_until([this] { return has_ended_; }));
  EXPECT_THAT(run_->left_out(), ElementsAre(Pair("n3", "because of no_library")));
  EXPECT_EQ(run_->found()[0].bus, 3e12);
}

TEST_F(GroupRunTest, a_node_is_left_out_only_for_a_reason_of_its_own) {
  answers_["10.1.0.2"] = failed("no_library");
  answers_["10.1.0.3"] = failed("not_joined");
  run({"", "", ""});
  EXPECT_THAT(run_->left_out(), ElementsAre(Pair("n2", "because of no_library")));
  ASSERT_EQ(run_->found().size(), 1U);
  EXPECT_EQ(run_->found()[0].bus, std::nullopt);
  EXPECT_EQ(run_->found()[0].problem, "reported by n3: because of not_joined") << "of the second try";
}

TEST_F(GroupRunTest, with_fewer_than_two_there_is_nothing_to_sum_up) {
  busy_ = {"10.1.0.1", "10.1.0.2"};
  run({"", "", ""});
  EXPECT_THAT(run_->found()[0].problem, HasSubstr("fewer than two"));
  EXPECT_EQ(run_->left_out().size(), 2U);
  EXPECT_THAT(group_sentence(found()), HasSubstr("; without 2 nodes"));
}

TEST_F(GroupRunTest, after_some_tries_it_is_given_up) {
  refuses_last_ = true;
  run({"", "", "", "", "", ""});
  EXPECT_EQ(run_->left_out().size(), GroupRun::kMostTries);
  EXPECT_THAT(run_->found()[0].problem, HasSubstr("each time other nodes"));
}

TEST_F(GroupRunTest, a_wrong_sum_names_the_node_that_got_it) {
  answers_["10.1.0.2"] = failed("wrong_result");
  answers_["10.1.0.2"].wrong_at = api::kWrongThere;
  answers_["10.1.0.3"] = failed("wrong_result");
  answers_["10.1.0.3"].wrong_at = api::kWrongHere;
  run({"", "", ""});
  ASSERT_TRUE(run_->found()[0].wrong);
  EXPECT_EQ(run_->found()[0].wrong->node, "n3");
  const Observations told = group_observations(found(), {});
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[1].name, "group.wrong");
  EXPECT_EQ(told[1].subject.key, "n3");
  EXPECT_EQ(group_sentence(found()), "all nodes: what GPUs summed up was wrong on n3");
}

// The joining endpoints know only that a peer is gone.
TEST_F(GroupRunTest, also_if_only_the_waiting_endpoint_knows_it) {
  answers_["10.1.0.2"] = failed("peer_vanished");
  answers_["10.1.0.3"] = failed("peer_vanished");
  end_ = {"wrong_result", "gpu 3: 119 in place of 136", api::kWrongHere};
  run({"", "", ""});
  ASSERT_TRUE(run_->found()[0].wrong);
  EXPECT_EQ(run_->found()[0].wrong->node, "n1");
  end_.wrong_at.clear();
  has_ended_ = false;
  run({"", "", ""});
  EXPECT_EQ(run_->found()[0].wrong->node, "");
  EXPECT_EQ(group_observations(found(), {})[1].subject.key, "all nodes") << "the node is not known";
}

TEST_F(GroupRunTest, that_another_rank_has_ended_is_no_cause) {
  answers_["10.1.0.2"] = failed("peer_vanished");
  answers_["10.1.0.3"] = failed("timed_out");
  answers_["10.1.0.4"] = failed("peer_vanished");
  run({"", "", "", ""});
  EXPECT_EQ(run_->found()[0].problem, "reported by n3: because of timed_out");
  answers_["10.1.0.3"] = failed("peer_vanished");
  has_ended_ = false;
  run({"", "", "", ""});
  EXPECT_THAT(run_->found()[0].problem, HasSubstr("because of peer_vanished")) << "nothing else is known";
  EXPECT_THAT(said_, Contains(HasSubstr("all nodes: again: reported by n2"))) << "once";
}

TEST_F(GroupRunTest, the_waiting_endpoint_states_why_it_ended) {
  answers_["10.1.0.2"] = failed("peer_vanished");
  answers_["10.1.0.3"] = failed("peer_vanished");
  end_ = {"not_joined", "only 16 of 24 ranks joined in time", ""};
  run({"", "", ""});
  EXPECT_EQ(run_->found()[0].problem, "reported by n1: only 16 of 24 ranks joined in time");
  EXPECT_THAT(run_->left_out(), IsEmpty());
}

TEST_F(GroupRunTest, a_waiting_endpoint_that_names_itself_is_left_out) {
  answers_["10.1.0.2"] = failed("peer_vanished");
  answers_["10.1.0.3"] = failed("peer_vanished");
  end_ = {"no_memory", "gpu 3: out of memory", ""};
  run({"", "", ""});
  EXPECT_THAT(run_->left_out(), Contains(Pair("n1", "gpu 3: out of memory")));
}

TEST_F(GroupRunTest, a_waiting_endpoint_that_ends_after_all_have_measured_changes_nothing) {
  end_ = {"peer_vanished", "another rank has ended", ""};
  run({"", "", ""});
  EXPECT_EQ(run_->found()[0].bus, 3e12);
  EXPECT_EQ(run_->found()[0].problem, "");
}

TEST_F(GroupRunTest, of_a_run_that_ends_early_the_rest_was_not_measured) {
  is_slow_to_wait_ = true;
  begin({"L1", "L2", "L1", "L2"});
  ASSERT_TRUE(run_until([this] { return held_.size() == 2; }));
  std::vector<std::string> rest;
  for (const GroupFound& one : run_->rest()) {
    rest.push_back(one.group.name + ": " + one.problem);
    EXPECT_EQ(one.bus, std::nullopt);
  }
  EXPECT_THAT(rest, ElementsAre("leaf L1: the test was ended before", "leaf L2: the test was ended before",
                                "all nodes: the test was ended before"));
}

TEST_F(GroupRunTest, a_wrong_sum_before_another_try_is_not_lost) {
  answers_["10.1.0.2"] = failed("wrong_result");
  answers_["10.1.0.2"].wrong_at = api::kWrongHere;
  busy_once_ = {"10.1.0.3"};
  begin({"", "", ""}, 1h);
  EXPECT_FALSE(run_->has_any());
  ASSERT_TRUE(
      run_until([this] { return !said_.empty() && said_.back().find(": again") != std::string::npos; }));
  EXPECT_TRUE(run_->has_any());
  ASSERT_EQ(run_->rest().size(), 1U);
  ASSERT_TRUE(run_->rest()[0].wrong);
  EXPECT_EQ(run_->rest()[0].wrong->node, "n2");
  EXPECT_EQ(group_sentence({run_->rest(), {}}), "all nodes: what GPUs summed up was wrong on n2");
}

TEST_F(GroupRunTest, abandoned_exchanges_end_the_waiting_endpoint) {
  is_held_ = true;
  begin({"", "", ""});
  ASSERT_TRUE(run_until([this] { return held_.size() == 2; }));
  auto exchanges = run_->take_exchanges();
  run_.reset();
  ASSERT_EQ(exchanges.size(), 1U);
  bool is_over = false;
  exchanges.front()->abandon([&is_over] { is_over = true; });
  EXPECT_FALSE(is_over);
  ASSERT_TRUE(run_until([&is_over] { return is_over; }));
  EXPECT_EQ(asked_.back(), "10.1.0.1 ends");
}

TEST_F(GroupRunTest, also_where_it_does_not_wait_yet) {
  is_slow_to_wait_ = true;
  begin({"", "", ""});
  ASSERT_TRUE(run_until([this] { return held_.size() == 1; }));
  auto exchanges = run_->take_exchanges();
  run_.reset();
  ASSERT_EQ(exchanges.size(), 1U);
  bool is_over = false;
  exchanges.front()->abandon([&is_over] { is_over = true; });
  held_.front().respond(
      {200, "application/json", api::to_json(api::ServersAnswer{"late", {}, kGroupNcclId}), {}});
  held_.clear();
  ASSERT_TRUE(run_until([&is_over] { return is_over; }));
  EXPECT_THAT(asked_, ElementsAre("10.1.0.1 waits for 24", "late ends"));
}

TEST(GroupObservations, of_many_members_the_rest_is_counted) {
  GroupsFound found;
  GroupFound& group = found.groups.emplace_back();
  group.group.name = "all nodes";
  group.group.members.resize(kMostMembersTold + 3);
  group.problem = "no reason";
  const Observations told = group_observations(found, {});
  EXPECT_THAT(autopilot::to_string(told[1].attributes[3].second), HasSubstr(" and 3 more"));
  EXPECT_EQ(told[1].missing, "not_measured");
}

}  // namespace
}  // namespace autopilot::nettest
