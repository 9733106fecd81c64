// SPDX-License-Identifier: Apache-2.0
#include "nettest/run/bandwidth_tester.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/clock/system_clock.hpp"
#include "net/http_server.hpp"
#include "nettest/run/bandwidth_observations.hpp"
#include "nettest/run/bandwidth_run.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::nettest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

constexpr std::size_t kLineRate = 25'000'000'000;

// An agent that reports the addresses of its node. It never answers a request to measure, unless its line is
// dead.
class SilentNode {
 public:
  SilentNode(net::EventLoop& loop, std::string name, std::string address, const std::size_t& rate)
      : name_(std::move(name)), server_(loop, {}) {
    server_.route(
        "GET", api::kNetworkPath,
        [this, address = std::move(address), &rate](const net::HttpRequest&, net::Responder responder) {
          const api::NodeNetwork page{name_, "", {{"net0", address, 1500, rate}}};
          responder.respond({200, "application/json", api::to_json(page), {}});
        });
    server_.route("POST", api::kServersPath, [this](const net::HttpRequest&, net::Responder responder) {
      if (is_dead_)
        return responder.respond(json_of(api::to_json(api::ServersAnswer{.id = "1", .ports = {9}})));
      asked_.push_back(std::move(responder));
    });
    server_.route("POST", api::kBandwidthPath, [](const net::HttpRequest&, net::Responder responder) {
      responder.respond(json_of(api::to_json(api::BandwidthAnswer{
          .to_peer = {}, .from_peer = {}, .reason = "timed_out", .error = "no answer within the time"})));
    });
    port_ = server_.listen_tcp("127.0.0.1:0").value();
  }
  [[nodiscard]] fleet::Peer peer() const { return {name_, "127.0.0.1", port_}; }
  [[nodiscard]] bool is_asked() const { return !asked_.empty(); }
  void kill_line() { is_dead_ = true; }

 private:
  static net::HttpResponse json_of(std::string body) {
    return {200, "application/json", std::move(body), {}};
  }

  std::string name_;
  bool is_dead_ = false;
  net::HttpServer server_;
  std::uint16_t port_ = 0;
  std::vector<net::Responder> asked_;
};

class BandwidthTesterTest : public ::testing::Test {
 protected:
  Status begin(const std::vector<Subject>& nodes = {}) {
    return tester_.begin({.on_progress = [](const std::string&) {},
                          .on_end = [this](Result<std::string> said) { said_ = std::move(said); },
                          .reservation = nodes});
  }
  Result<api::BandwidthPlan> plan_between(const std::vector<Subject>& nodes) {
    std::optional<Result<api::BandwidthPlan>> planned;
    tester_.plan(nodes, [&planned](const Result<api::BandwidthPlan>& plan) { planned = plan; });
    EXPECT_TRUE(run_until([&planned] { return planned.has_value(); }));
    return *planned;
  }
  [[nodiscard]] bool run_until(const std::function<bool()>& is_so) {
    return net::testing::run_until(loop_, is_so);
  }

  net::EventLoop loop_;
  const host::SystemClock clock_;
  std::size_t rate_ = kLineRate;
  PairChoice choice_;
  std::vector<fleet::Peer> others_;
  std::optional<Result<std::string>> said_;
  SilentNode one_{loop_, "gpu-1", "10.1.0.1", rate_};
  SilentNode two_{loop_, "gpu-2", "10.1.0.2", rate_};
  AddressBook book_{loop_, clock_, {}};
  std::shared_ptr<host::TestBoard> board_ = std::make_shared<host::TestBoard>();
  BandwidthTester tester_{loop_,
                          clock_,
                          kByTcp,
                          book_,
                          {.peers =
                               [this](const auto& done) {
                                 std::vector<fleet::Peer> peers{one_.peer(), two_.peer()};
                                 peers.insert(peers.end(), others_.begin(), others_.end());
                                 done(peers);
                               },
                           .tls = {},
                           .choice = [this] { return choice_; },
                           .look = [] {}},
                          board_};
};

TEST_F(BandwidthTesterTest, of_lines_of_an_unknown_rate_no_share_is_taken) {
  rate_ = 0;
  choice_.most_percent = 50;
  ASSERT_TRUE(begin());
  ASSERT_TRUE(run_until([this] { return said_.has_value(); }));
  ASSERT_FALSE(*said_);
  EXPECT_THAT(said_->error().what, HasSubstr("network.most_percent"));
  EXPECT_EQ(board_->last(kBandwidthCheck).error().code, Errc::unsupported) << "what was known stays";
  EXPECT_FALSE(one_.is_asked() || two_.is_asked());
}

TEST_F(BandwidthTesterTest, but_all_that_they_carry) {
  rate_ = 0;
  ASSERT_TRUE(begin());
  EXPECT_TRUE(run_until([this] { return one_.is_asked() || two_.is_asked(); }));
}

TEST_F(BandwidthTesterTest, a_test_that_is_cancelled_before_a_pair_was_measured_reports_that) {
  ASSERT_TRUE(begin());
  ASSERT_TRUE(run_until([this] { return one_.is_asked() || two_.is_asked(); }));
  EXPECT_EQ(begin().error().code, Errc::conflict);
  tester_.cancel();
  ASSERT_TRUE(run_until([this] { return said_.has_value(); }));
  EXPECT_THAT(said_->error().what, HasSubstr("before a pair was measured"));
  EXPECT_TRUE(begin()) << "the next one need not wait for what the agents still do";
}

TEST_F(BandwidthTesterTest, where_nothing_comes_through_anywhere_that_is_what_was_found) {
  one_.kill_line();
  two_.kill_line();
  ASSERT_TRUE(begin());
  ASSERT_TRUE(run_until([this] { return said_.has_value(); }));
  ASSERT_TRUE(*said_) << said_->error().what;
  const auto found = board_->last(kBandwidthCheck);
  ASSERT_TRUE(found) << found.error().what;
  EXPECT_EQ(std::ranges::count_if(*found,
                                  [](const Observation& one) {
                                    return one.name == "bandwidth.received" && one.value &&
                                           as_number(*one.value) == 0.0;
                                  }),
            2)
      << "both directions";
}

TEST_F(BandwidthTesterTest, a_plan_names_the_pairs_and_starts_no_measurement) {
  choice_.most_percent = 40;
  const auto plan = plan_between({});
  ASSERT_TRUE(plan) << plan.error().what;
  EXPECT_THAT(plan->rails, ElementsAre(api::PlannedRail{"net0", {"gpu-1", "gpu-2"}}));
  ASSERT_EQ(plan->pairs.size(), 1U);
  EXPECT_THAT((std::vector{plan->pairs[0].source, plan->pairs[0].destination}),
              UnorderedElementsAre("gpu-1", "gpu-2"));
  EXPECT_GE(plan->seconds, 8U);
  EXPECT_EQ(plan->rounds, 1U);
  EXPECT_EQ(plan->most_percent, 40U);
  EXPECT_THAT(plan->left_out, IsEmpty());
  EXPECT_FALSE(one_.is_asked() || two_.is_asked());
  EXPECT_TRUE(begin()) << "a plan is not a test";
}

// Any user who can reach the port may request a plan.
TEST_F(BandwidthTesterTest, only_so_many_plans_are_made_at_once_and_equal_questions_have_one_answer) {
  ASSERT_TRUE(plan_between({}));
  others_ = {{"gpu-3", "127.0.0.1", 1}};
  const auto again = plan_between({});
  ASSERT_TRUE(again);
  EXPECT_THAT(again->left_out, IsEmpty()) << "it is that of a moment ago";
  for (std::size_t i = 1; i < BandwidthTester::kMostPlans; ++i)
    EXPECT_FALSE(plan_between({{SubjectKind::peer, "gpu-9" + std::to_string(i), {}, {}, {}}}));
  EXPECT_EQ(plan_between({{SubjectKind::peer, "gpu-1", {}, {}, {}}}).error().code, Errc::exhausted);
}

// Repeated tests cover more paths of a fabric; a plan is of the next test.
TEST_F(BandwidthTesterTest, each_test_has_other_pairs_than_the_one_before) {
  std::vector<std::unique_ptr<SilentNode>> more;
  for (int n = 3; n <= 16; ++n) {
    const std::string number = std::to_string(n);
    more.push_back(std::make_unique<SilentNode>(loop_, "gpu-" + number, "10.1.0." + number, rate_));
    others_.push_back(more.back()->peer());
  }
  const auto first = plan_between({});
  ASSERT_TRUE(begin());
  ASSERT_TRUE(run_until(
      [&more] { return std::ranges::any_of(more, [](const auto& node) { return node->is_asked(); }); }));
  tester_.cancel();
  ASSERT_TRUE(run_until([this] { return said_.has_value(); }));
  const auto second = plan_between({});
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->pairs.size(), second->pairs.size());
  EXPECT_NE(first->pairs, second->pairs);
}

TEST_F(BandwidthTesterTest, a_plan_of_all_pairs_has_the_number_of_rounds) {
  choice_.all_pairs = true;
  SilentNode three{loop_, "gpu-3", "10.1.0.3", rate_};
  others_ = {three.peer()};
  const auto plan = plan_between({});
  ASSERT_TRUE(plan) << plan.error().what;
  EXPECT_EQ(plan->rounds, 3U);
  EXPECT_EQ(plan->pairs.size(), 1U);
}

TEST_F(BandwidthTesterTest, all_pairs_that_take_longer_than_a_test_may_are_refused) {
  std::vector<PeerNetwork> networks;
  for (int n = 0; n < 128; ++n) {
    const std::string number = std::to_string(n);
    networks.push_back({.peer = {"gpu-" + number, "127.0.0.1", 1},
                        .network = {"gpu-" + number, "", {{"net0", "10.1.0." + number}}, n < 64 ? "a" : "b"},
                        .problem = ""});
  }
  EXPECT_TRUE(plan_run(networks, kByTcp, {}));
  const auto run = plan_run(networks, kByTcp, {.all_pairs = true});
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, Errc::exhausted);
  EXPECT_THAT(run.error().what, HasSubstr("no test takes longer than 1h: name fewer (--nodes)"));
  for (PeerNetwork& network : networks)
    network.network.leaf = "a";
  EXPECT_TRUE(plan_run(networks, kByTcp, {.all_pairs = true}));
}

TEST_F(BandwidthTesterTest, a_plan_has_the_reason_why_a_node_is_left_out) {
  others_ = {{"gpu-3", "127.0.0.1", 1}};  // no program listens there
  const auto plan = plan_between({});
  ASSERT_TRUE(plan) << plan.error().what;
  ASSERT_EQ(plan->left_out.size(), 1U);
  EXPECT_EQ(plan->left_out[0].node, "gpu-3");
  EXPECT_THAT(plan->left_out[0].why, Not(IsEmpty()));
}

TEST_F(BandwidthTesterTest, without_a_pair_or_with_an_unknown_node_there_is_no_plan) {
  EXPECT_EQ(plan_between({{SubjectKind::peer, "gpu-9", {}, {}, {}}}).error().code, Errc::not_found);
  EXPECT_EQ(plan_between({{SubjectKind::peer, "gpu-1", {}, {}, {}}}).error().code, Errc::unsupported);
}

TEST_F(BandwidthTesterTest, of_lines_of_an_unknown_rate_no_share_is_planned) {
  rate_ = 0;
  choice_.most_percent = 50;
  EXPECT_EQ(plan_between({}).error().code, Errc::unavailable);
}

TEST_F(BandwidthTesterTest, a_single_node_is_refused) {
  const Status begun = begin({{SubjectKind::peer, "gpu-1", {}, {}, {}}});
  EXPECT_EQ(begun.error().code, Errc::malformed);
}

}  // namespace
}  // namespace autopilot::nettest
