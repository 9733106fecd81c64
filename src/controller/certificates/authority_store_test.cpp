// SPDX-License-Identifier: Apache-2.0
#include "controller/certificates/authority_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "kube/scripted_api.hpp"
#include "tests/fakes/fake_cluster.hpp"

namespace autopilot::controller {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

const std::string kList = "/api/v1/namespaces/autopilot/secrets";
const std::string kSecret = kList + "/autopilot-authority";

class AuthorityStoreTest : public ::testing::Test {
 protected:
  AuthorityStoreTest() {
    api_.serve(kList);
    clock_.time = 24h * 20'000;
  }
  // One of the controllers.
  struct Controller {
    bool leads = false;
    std::vector<AuthorityKeys> seen;
    std::vector<std::string> problems;
    std::unique_ptr<kube::Client> client;
    std::unique_ptr<AuthorityStore> store;
  };
  std::unique_ptr<Controller> controller(bool leads) {
    auto made = std::make_unique<Controller>();
    Controller& one = *made;
    one.leads = leads;
    one.client = api_.client();
    one.store = std::make_unique<AuthorityStore>(
        loop_, *one.client, clock_, "autopilot", AuthorityTimes{}, [&one] { return one.leads; },
        AuthorityStore::Listener{[&one](const AuthorityKeys& keys) { one.seen.push_back(keys); },
                                 [&one](const Error& why) { one.problems.push_back(why.what); }},
        [] { return 0.0; },
        AuthorityStore::Pace{
            .look = 1ms, .wait_for_leader = 1ms, .after_failures = {.first = 1ms, .last = 4ms}});
    one.store->look();
    return made;
  }
  [[nodiscard]] bool run_until(const std::function<bool()>& is_so) {
    return net::testing::run_until(loop_, is_so);
  }

  kube::testing::SetClock clock_;
  net::EventLoop loop_;
  fakes::FakeCluster api_{loop_};
};

TEST_F(AuthorityStoreTest, the_leader_makes_what_is_missing_and_the_others_wait_for_it) {
  const auto follower = controller(false);
  ASSERT_TRUE(run_until([&] { return !follower->problems.empty(); }));
  EXPECT_THAT(follower->problems, ElementsAre(HasSubstr("no authority yet")));
  EXPECT_THAT(api_.writes, IsEmpty());
  const auto leader = controller(true);
  ASSERT_TRUE(run_until([&] { return !leader->seen.empty() && !follower->seen.empty(); }));
  EXPECT_THAT(api_.writes, ElementsAre("POST " + kSecret));
  EXPECT_EQ(leader->seen[0], follower->seen[0]);
  EXPECT_THAT(follower->store->problem(), IsEmpty());
  EXPECT_EQ(api_.text_at(kSecret, "/type"), "kubernetes.io/tls");
}

TEST_F(AuthorityStoreTest, of_two_that_make_it_at_once_the_first_one_counts) {
  const auto one = controller(true);
  const auto two = controller(true);
  ASSERT_TRUE(run_until([&] { return !one->seen.empty() && !two->seen.empty(); }));
  EXPECT_EQ(one->seen[0], two->seen[0]);
  EXPECT_THAT(api_.writes, SizeIs(1));
  EXPECT_THAT(one->problems, IsEmpty());
  EXPECT_THAT(two->problems, IsEmpty());
}

TEST_F(AuthorityStoreTest, the_leader_makes_the_next_one_in_time_and_a_follower_does_not) {
  const auto leader = controller(true);
  ASSERT_TRUE(run_until([&] { return !leader->seen.empty(); }));
  leader->leads = false;
  clock_.time += AuthorityTimes{}.life - 80 * 24h;
  const std::size_t before = leader->seen.size();
  ASSERT_TRUE(run_until([&] { return leader->seen.size() > before + 2; }));
  EXPECT_FALSE(leader->seen.back().next);
  leader->leads = true;
  ASSERT_TRUE(run_until([&] { return leader->seen.back().next.has_value(); }));
  EXPECT_EQ(leader->seen.back().current, leader->seen.front().current);
  EXPECT_THAT(api_.writes, ElementsAre("POST " + kSecret, "PATCH " + kSecret));
}

TEST_F(AuthorityStoreTest, a_secret_that_makes_no_sense_is_told_once_and_stays) {
  api_.put(kSecret, R"({"kind":"Secret","data":{"tls.key":"czNjcmV0"}})");
  const auto leader = controller(true);
  ASSERT_TRUE(run_until([&] { return !leader->problems.empty(); }));
  EXPECT_THAT(leader->problems, ElementsAre(HasSubstr("whoever deletes it gets a new authority")));
  EXPECT_THAT(leader->problems[0], Not(HasSubstr("s3cret")));
  EXPECT_THAT(api_.writes, IsEmpty());
  api_.objects.clear();
  ASSERT_TRUE(run_until([&] { return !leader->seen.empty(); }));
}

TEST_F(AuthorityStoreTest, who_may_not_write_goes_on_with_what_there_is) {
  const auto leader = controller(true);
  ASSERT_TRUE(run_until([&] { return !leader->seen.empty(); }));
  api_.refusals["PATCH"] = 403;
  clock_.time += AuthorityTimes{}.life - 80 * 24h;
  ASSERT_TRUE(run_until([&] { return !leader->problems.empty(); }));
  const std::size_t before = leader->seen.size();
  ASSERT_TRUE(run_until([&] { return leader->seen.size() > before + 2; }));
  EXPECT_THAT(leader->problems, ElementsAre(StartsWith("PATCH " + kSecret + ": 403")));
  EXPECT_EQ(leader->seen.back(), leader->seen.front());
}

}  // namespace
}  // namespace autopilot::controller
