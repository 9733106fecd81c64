// SPDX-License-Identifier: Apache-2.0
#include "preflight/gang_wait.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "tests/support/net/test_server.hpp"

namespace autopilot::preflight {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

kube::Pod gang_pod(const std::string& kind, const std::string& size = {}) {
  kube::Pod one;
  one.owner_kind = kind;
  one.owner_uid = kind.empty() ? "" : "j1";
  if (!size.empty()) one.meta.annotations["autopilot.ibm.com/gang-size"] = size;
  return one;
}

TEST(GangSize, pods_of_a_job_begin_together_and_replicas_do_not) {
  const std::string prefix = "autopilot.ibm.com";
  EXPECT_EQ(gang_size(gang_pod("Job"), prefix), 0U);
  EXPECT_EQ(gang_size(gang_pod("PyTorchJob"), prefix), 0U);
  EXPECT_EQ(gang_size(gang_pod("Job", "8"), prefix), 8U);
  EXPECT_EQ(gang_size(gang_pod("StatefulSet", "8"), prefix), 8U);
  EXPECT_EQ(gang_size(gang_pod("Job", "8"), "other.org"), 0U);
  EXPECT_EQ(gang_size(gang_pod("Job", "many"), prefix), 0U);
  EXPECT_EQ(gang_size(gang_pod("Job", "4294967295"), prefix), 0U);
  for (const char* kind : {"ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController", ""})
    EXPECT_EQ(gang_size(gang_pod(kind), prefix), std::nullopt) << kind;
  EXPECT_EQ(gang_size(gang_pod("Job", "1"), prefix), std::nullopt);
  EXPECT_EQ(gang_size(gang_pod("", "8"), prefix), std::nullopt);
}

// A controller that says what it is told to; of what it is not told it stays silent.
class GangWaitTest : public ::testing::Test {
 protected:
  void wait(Duration patience = 1min) {
    wait_ = std::make_unique<GangWait>(
        loop_, api::GangQuestion{"u1", 8}, patience,
        [this](const api::GangQuestion& question, auto done) {
          asked_.push_back(question);
          done_ = done;
          if (answers_.empty()) return;
          const auto answer = answers_.front();
          answers_.erase(answers_.begin());
          loop_.post([done, answer] { done(answer); });
        },
        GangWait::Listener{[this](const std::string& message) { progress_.push_back(message); },
                           [this](const GangWait::End& end) {
                             ended_.push_back(end.given_up);
                             nodes_ = end.nodes;
                             wait_.reset();
                           }});
    EXPECT_THAT(asked_, IsEmpty());
  }
  [[nodiscard]] bool run_until(const std::function<bool()>& is_so) {
    return net::testing::run_until(loop_, is_so);
  }
  [[nodiscard]] bool ends() {
    return run_until([this] { return !ended_.empty(); });
  }

  net::EventLoop loop_;
  std::vector<Result<api::GangAnswer>> answers_;
  std::vector<api::GangQuestion> asked_;
  std::function<void(const Result<api::GangAnswer>&)> done_;
  std::vector<std::string> progress_;
  std::vector<std::string> ended_;
  std::vector<std::string> nodes_;
  std::unique_ptr<GangWait> wait_;
};

TEST_F(GangWaitTest, starts_at_once_where_it_may) {
  answers_ = {api::GangAnswer{true, {}}};
  wait();
  ASSERT_TRUE(ends());
  EXPECT_THAT(ended_, ElementsAre(""));
  EXPECT_THAT(progress_, IsEmpty());
  ASSERT_EQ(asked_.size(), 1U);
  EXPECT_EQ(asked_[0].pod_uid, "u1");
  EXPECT_EQ(asked_[0].size, 8U);
}

TEST_F(GangWaitTest, asks_again_until_it_may_and_tells_whom_it_waits_for) {
  answers_ = {fail(Errc::unavailable, "it does not lead"), api::GangAnswer{false, "waiting for train-1"},
              api::GangAnswer{true, {}}};
  wait();
  ASSERT_TRUE(ends());
  EXPECT_THAT(ended_, ElementsAre(""));
  EXPECT_THAT(progress_, ElementsAre("waiting for train-1"));
}

TEST_F(GangWaitTest, gives_up_when_its_patience_is_over_and_says_on_whom) {
  answers_ = {api::GangAnswer{false, "waiting for train-1"}};
  wait(200ms);
  ASSERT_TRUE(ends());
  EXPECT_THAT(ended_, ElementsAre("waiting for train-1"));
}

TEST_F(GangWaitTest, tells_the_nodes_that_it_was_told_last) {
  answers_ = {api::GangAnswer{false, "waiting for train-1", {"n2"}}, api::GangAnswer{true, {}, {"n2", "n3"}}};
  wait();
  ASSERT_TRUE(ends());
  EXPECT_THAT(nodes_, ElementsAre("n2", "n3"));
}

TEST_F(GangWaitTest, and_those_it_knows_when_its_patience_is_over) {
  answers_ = {api::GangAnswer{false, "waiting for train-1", {"n2"}}};
  wait(200ms);
  ASSERT_TRUE(ends());
  EXPECT_THAT(ended_, ElementsAre("waiting for train-1"));
  EXPECT_THAT(nodes_, ElementsAre("n2"));
}

TEST_F(GangWaitTest, a_controller_that_is_away_for_longer_is_told_of) {
  answers_.assign(20, fail(Errc::unavailable, "nobody answers"));
  wait();
  ASSERT_TRUE(run_until([this] { return !progress_.empty(); }));
  EXPECT_THAT(progress_[0], HasSubstr("nobody answers"));
  EXPECT_GT(asked_.size(), 3U);
}

TEST_F(GangWaitTest, a_controller_that_never_answers_is_given_up) {
  wait(50ms);
  ASSERT_TRUE(ends());
  EXPECT_THAT(ended_, ElementsAre(HasSubstr("an answer of the controller")));
}

TEST_F(GangWaitTest, a_controller_that_knows_no_gangs_is_not_waited_for) {
  answers_ = {fail(Errc::unsupported, "it is older")};
  wait();
  ASSERT_TRUE(ends());
  EXPECT_THAT(ended_, ElementsAre(""));
}

TEST_F(GangWaitTest, an_answer_that_comes_too_late_finds_nobody) {
  wait();
  ASSERT_TRUE(run_until([this] { return asked_.size() == 1; }));
  wait_.reset();
  done_(api::GangAnswer{false, "waiting for train-1"});
  EXPECT_THAT(progress_, IsEmpty());
  EXPECT_THAT(ended_, IsEmpty());
}

}  // namespace
}  // namespace autopilot::preflight
