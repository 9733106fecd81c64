// SPDX-License-Identifier: Apache-2.0
#include "kube/leader.hpp"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "host/clock/system_clock.hpp"
#include "net/test_server.hpp"
#include "tests/fakes/fake_cluster.hpp"

namespace autopilot::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kLeases = "/apis/coordination.k8s.io/v1/namespaces/autopilot/leases";
const std::string kLease = kLeases + "/autopilot-controller";

constexpr LeaseTimes kQuick{.lease = 1s, .renew_deadline = 400ms, .retry = 20ms};

class LeaderTest : public ::testing::Test {
 protected:
  LeaderTest() { api_.serve(kLeases); }

  // One process that takes part.
  struct Candidate {
    std::unique_ptr<Client> client;
    std::vector<std::string> told;  // "lead", "step down", or why nothing is known
    std::unique_ptr<Leader> leader;
  };
  std::unique_ptr<Candidate> candidate(const std::string& identity) {
    auto made = std::make_unique<Candidate>();
    auto& told = made->told;
    made->client = api_.client();
    made->leader = std::make_unique<Leader>(
        loop_, *made->client, clock_, LeaderOptions{"autopilot", "autopilot-controller", identity, kQuick},
        Leader::Listener{[&told] { told.emplace_back("lead"); }, [&told] { told.emplace_back("step down"); },
                         [&told](const Error& why) { told.push_back(why.what); }},
        [] { return 0.5; });
    return made;
  }
  [[nodiscard]] bool run_until(const std::function<bool()>& is_so) {
    return net::testing::run_until(loop_, is_so);
  }

  [[nodiscard]] std::string holder() const { return api_.text_at(kLease, "/spec/holderIdentity"); }

  host::SystemClock clock_;
  net::EventLoop loop_;
  fakes::FakeCluster api_{loop_};
};

TEST_F(LeaderTest, leads_when_nobody_else_does_and_renews) {
  const auto one = candidate("one");
  one->leader->start();
  EXPECT_FALSE(one->leader->is_leader());
  ASSERT_TRUE(run_until([&] { return api_.writes.size() >= 3; }));
  EXPECT_TRUE(one->leader->is_leader());
  EXPECT_THAT(one->told, ElementsAre("lead"));
  EXPECT_EQ(one->leader->holder(), "one");
  EXPECT_EQ(one->leader->transitions(), 0);
}

TEST_F(LeaderTest, two_never_lead_at_once_and_a_lease_given_back_is_taken_at_the_next_look) {
  const auto one = candidate("one");
  const auto two = candidate("two");
  one->leader->start();
  two->leader->start();
  ASSERT_TRUE(run_until([&] { return !one->told.empty() || !two->told.empty(); }));
  Candidate& first = one->told.empty() ? *two : *one;
  Candidate& second = one->told.empty() ? *one : *two;
  EXPECT_FALSE(second.leader->is_leader());
  bool is_released = false;
  first.leader->release([&is_released] { is_released = true; });
  EXPECT_FALSE(first.leader->is_leader());
  ASSERT_TRUE(run_until([&] { return is_released && !second.told.empty(); }));
  EXPECT_THAT(first.told, ElementsAre("lead", "step down"));
  EXPECT_THAT(second.told, ElementsAre("lead"));
  EXPECT_EQ(second.leader->transitions(), 1);
}

TEST_F(LeaderTest, a_leader_that_died_is_followed_when_its_lease_has_ended) {
  auto one = candidate("one");
  one->leader->start();
  ASSERT_TRUE(run_until([&] { return one->leader->is_leader(); }));
  one.reset();
  EXPECT_EQ(holder(), "one");
  const auto two = candidate("two");
  two->leader->start();
  ASSERT_TRUE(run_until([&] { return two->leader->is_leader(); }));
  EXPECT_EQ(holder(), "two");
}

TEST_F(LeaderTest, a_server_that_goes_silent_costs_the_leadership_and_it_comes_back) {
  const auto one = candidate("one");
  one->leader->start();
  ASSERT_TRUE(run_until([&] { return one->leader->is_leader(); }));
  api_.is_silent = true;
  ASSERT_TRUE(run_until([&] { return one->told.size() >= 3; }));
  EXPECT_FALSE(one->leader->is_leader());
  EXPECT_THAT(one->told, ::testing::Contains("step down"));
  EXPECT_THAT(one->leader->problem(), HasSubstr("no answer in 200ms"));
  api_.is_silent = false;
  ASSERT_TRUE(run_until([&] { return one->leader->is_leader(); }));
  EXPECT_THAT(one->leader->problem(), IsEmpty());
}

TEST_F(LeaderTest, without_the_right_it_says_so_once_and_tries_on) {
  api_.refusals["GET"] = 403;
  const auto one = candidate("one");
  one->leader->start();
  ASSERT_TRUE(run_until([&] { return one->leader->failures() >= 3; }));
  ASSERT_THAT(one->told, SizeIs(1));
  EXPECT_THAT(one->told[0], HasSubstr("leases/autopilot-controller: 403: "));
  api_.refusals.clear();
  ASSERT_TRUE(run_until([&] { return one->leader->is_leader(); }));
}

TEST_F(LeaderTest, what_is_no_lease_is_a_problem_and_nothing_to_lead_by) {
  api_.objects[kLease] = R"({"metadata":{"name":"autopilot-controller"},"spec":{"holderIdentity":""}})";
  const auto one = candidate("one");
  one->leader->start();
  ASSERT_TRUE(run_until([&] { return one->leader->failures() >= 2; }));
  EXPECT_FALSE(one->leader->is_leader());
  EXPECT_THAT(one->leader->problem(), HasSubstr("not a Lease"));
  EXPECT_THAT(api_.writes, IsEmpty());
}

}  // namespace
}  // namespace autopilot::kube
