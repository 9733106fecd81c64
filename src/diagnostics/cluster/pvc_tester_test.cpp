// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/cluster/pvc_tester.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/kube/cluster_fixture.hpp"

namespace autopilot::diagnostics {
namespace {

using namespace std::chrono_literals;
using net::testing::answer;
using net::testing::Scripted;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kRun = "7b";  // of a test at kTestTime
constexpr WallTime kTestTime{Duration{0x7b}};

// Time goes on, and the day stays.
class SameDay : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return {kTestTime, system_.now().mono}; }

 private:
  host::SystemClock system_;
};

class PvcTesterTest : public kube::testing::ClusterFixture {
 protected:
  void begin(std::vector<net::testing::Scripted> script) {
    serve(std::move(script));
    PvcPlace place{
        .node = "gpu-7", .node_uid = {}, .name_space = "autopilot", .bytes = 1 << 20, .image = "i"};
    PvcPlan plan{.targets = {{"fast", "ReadWriteOnce"}}, .period = period_, .times = {}};
    tester_ = std::make_unique<PvcTester>(
        loop_, *client_, *writer_, lists_, day_, std::move(place), std::move(plan),
        [this] { return random_; }, board_);
    kube::Node node;
    node.meta.name = "gpu-7";
    node.meta.uid = "u-7";
    tester_->see(node);
  }
  // Asks for a round now; what it says at its end lands in `said_`.
  Status test_now() {
    return tester_->test_now({.on_progress = [this](std::string message) { progress_ = std::move(message); },
                              .on_end = [this](Result<std::string> said) { said_ = std::move(said); }});
  }
  [[nodiscard]] Observation outcome() const {
    const auto found = board_->last("storage.pvc");
    return found && !found->empty() ? found->front() : Observation{};
  }
  [[nodiscard]] bool has_result() const { return outcome().missing != "not_tested"; }

  std::shared_ptr<host::TestBoard> board_ = std::make_shared<host::TestBoard>();
  const SameDay day_;
  ListBudget lists_;
  double random_ = 0.0;
  Duration period_ = 1h;
  std::string progress_;
  std::optional<Result<std::string>> said_;
  std::unique_ptr<PvcTester> tester_;
};

TEST_F(PvcTesterTest, nothing_is_known_before_a_test_has_ended) {
  begin({});
  EXPECT_EQ(outcome().missing, "not_tested");
  EXPECT_EQ(to_string(outcome().subject), "peer/fast/ReadWriteOnce");
}

TEST_F(PvcTesterTest, looks_for_leftovers_first_and_tells_of_a_class_that_is_not_there) {
  begin({ok(kEmptyList), ok(kEmptyList), {answer(404, R"({"reason":"NotFound"})")}});
  ASSERT_TRUE(run_until([this] { return has_result(); }));
  EXPECT_EQ(outcome().value, Value("no_class"));
  EXPECT_THAT(requests(), ElementsAre("GET /api/v1/namespaces/autopilot/persistentvolumeclaims",
                                      "GET /api/v1/namespaces/autopilot/pods",
                                      "GET /apis/storage.k8s.io/v1/storageclasses/fast HTTP/1.1"));
  EXPECT_THAT(server_->requests().front(), HasSubstr("labelSelector=autopilot.ibm.com"));
}

TEST_F(PvcTesterTest, takes_away_what_a_killed_one_left) {
  const std::string left =
      R"({"items":[{"metadata":{"name":"autopilot-pvc-old","uid":"c-0"},"status":{"phase":"Bound"}}]})";
  begin({ok(left), ok(kEmptyList), ok("{}"), ok(kEmptyList), ok(kEmptyList), {answer(404, "{}")}});
  ASSERT_TRUE(run_until([this] { return has_result(); }));
  ASSERT_EQ(requests().size(), 6U);
  EXPECT_THAT(requests()[2],
              StartsWith("DELETE /api/v1/namespaces/autopilot/persistentvolumeclaims/autopilot-pvc-old"));
  EXPECT_THAT(server_->requests()[2], HasSubstr(R"("preconditions":{"uid":"c-0"})"));
}

TEST_F(PvcTesterTest, a_volume_that_is_given_is_healthy_and_goes_with_its_claim) {
  const auto claim = [](const std::string& phase) {
    return R"({"metadata":{"name":")" + pvc_object_name("gpu-7", {"fast", "ReadWriteOnce"}) +
           R"(","uid":"c-1","annotations":{"autopilot.ibm.com/pvc-run":")" + kRun +
           R"("}},"status":{"phase":")" + phase + R"("}})";
  };
  begin({ok(kEmptyList),
         ok(kEmptyList),
         ok(R"({"provisioner":"p"})"),
         ok("{}"),
         ok(claim("Pending")),
         ok(claim("Bound")),
         ok("{}"),
         {answer(404, R"({"reason":"NotFound"})")}});
  ASSERT_TRUE(run_until([this] { return has_result(); }));
  EXPECT_EQ(outcome().value, Value("bound"));
  EXPECT_THAT(server_->requests().at(3), HasSubstr(R"("storageClassName":"fast")"));
  EXPECT_THAT(server_->requests().at(3), HasSubstr("\"autopilot.ibm.com/pvc-run\":\"" + kRun + '"'));
  EXPECT_THAT(requests().at(6),
              StartsWith("DELETE /api/v1/namespaces/autopilot/persistentvolumeclaims/autopilot-pvc-"));
  EXPECT_EQ(board_->last("storage.pvc")->size(), 2U);  // with how long it took, and nothing left behind
}

TEST_F(PvcTesterTest, a_missing_right_is_unknown_and_named) {
  const std::string refusal =
      R"({"reason":"Forbidden","message":"persistentvolumeclaims is forbidden: no create"})";
  begin({ok(kEmptyList),
         ok(kEmptyList),
         ok(R"({"provisioner":"p"})"),
         {answer(403, refusal)},
         ok(kEmptyList),
         ok(kEmptyList),
         ok(R"({"provisioner":"p"})")});
  ASSERT_TRUE(run_until([this] { return has_result(); }));
  EXPECT_EQ(outcome().missing, "denied");
  EXPECT_THAT(autopilot::to_string(*find_attribute(outcome().attributes, "error")), HasSubstr("no create"));
}

TEST_F(PvcTesterTest, a_round_that_is_asked_for_begins_at_once_and_tells_its_end) {
  random_ = 0.9;  // the first one of its own accord comes in minutes
  begin({ok(kEmptyList), ok(kEmptyList), {answer(404, R"({"reason":"NotFound"})")}});
  ASSERT_TRUE(test_now().has_value());
  ASSERT_TRUE(run_until([this] { return said_.has_value(); }));
  ASSERT_TRUE(said_->has_value());
  EXPECT_EQ(**said_, "fast ReadWriteOnce: no_class");
  EXPECT_EQ(progress_, "asking fast for a volume");
  EXPECT_EQ(outcome().value, Value("no_class"));
}

TEST_F(PvcTesterTest, without_a_period_rounds_are_asked_for) {
  period_ = 0s;
  begin({ok(kEmptyList), ok(kEmptyList), {answer(404, R"({"reason":"NotFound"})")}});
  ASSERT_TRUE(run_until([this] { return requests().size() == 2; }));  // what a predecessor left
  bool is_later = false;
  const auto later = loop_.after(200ms, [&] { is_later = true; });
  ASSERT_TRUE(run_until([&] { return is_later; }));
  EXPECT_FALSE(has_result());
  ASSERT_TRUE(test_now().has_value());
  ASSERT_TRUE(run_until([this] { return said_.has_value(); }));
  EXPECT_EQ(requests().size(), 3U);
}

TEST_F(PvcTesterTest, a_round_that_is_asked_for_while_one_runs_begins_after_it) {
  const Scripted not_found = {answer(404, R"({"reason":"NotFound"})")};
  begin({ok(kEmptyList), ok(kEmptyList), not_found, not_found});
  ASSERT_TRUE(run_until([this] { return requests().size() == 3; }));
  ASSERT_TRUE(test_now().has_value());
  ASSERT_TRUE(run_until([this] { return said_.has_value(); }));
  // What is under way may have looked before somebody mended what it looks at.
  EXPECT_EQ(requests().size(), 4U);
}

TEST_F(PvcTesterTest, a_round_that_can_tell_nothing_says_why) {
  random_ = 0.9;
  const std::string refusal = R"({"reason":"Forbidden","message":"persistentvolumeclaims is forbidden"})";
  begin({ok(kEmptyList),
         ok(kEmptyList),
         ok(R"({"provisioner":"p"})"),
         {answer(403, refusal)},
         ok(kEmptyList),
         ok(kEmptyList),
         ok(R"({"provisioner":"p"})")});
  ASSERT_TRUE(test_now().has_value());
  ASSERT_TRUE(run_until([this] { return said_.has_value(); }));
  ASSERT_FALSE(said_->has_value());
  EXPECT_THAT(said_->error().what, HasSubstr("is forbidden"));
}

TEST_F(PvcTesterTest, nobody_is_told_who_waits_no_more) {
  random_ = 0.9;
  begin({ok(kEmptyList), ok(kEmptyList), {answer(404, R"({"reason":"NotFound"})")}});
  ASSERT_TRUE(test_now().has_value());
  tester_->forget_asked();
  ASSERT_TRUE(run_until([this] { return has_result(); }));
  EXPECT_FALSE(said_.has_value());
}

}  // namespace
}  // namespace autopilot::diagnostics
