// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/cluster/deep_tester.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/diagnostics/deep_test_fixture.hpp"
#include "tests/support/kube/cluster_fixture.hpp"

namespace autopilot::diagnostics {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;
using net::testing::answer;
using net::testing::Scripted;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kJobs = "/apis/batch/v1/namespaces/autopilot/jobs";
const std::string kPrefix = "autopilot.ibm.com";

class DeepTesterTest : public kube::testing::ClusterFixture {
 protected:
  // Tests that nobody asked for have their turn in days.
  void begin(std::vector<Scripted> script, std::string pod = "") {
    serve(std::move(script));
    tester_ = std::make_unique<DeepTester>(loop_, *client_, *writer_, lists_, clock_, policy_, std::move(pod),
                                           [this](const std::string& test, const DeepTestResult& result) {
                                             told_.emplace_back(test, result.outcome);
                                           });
  }
  Status test_now() {
    return tester_->test_now({.on_wait = [this](std::string why) { waits_.push_back(std::move(why)); },
                              .on_end =
                                  [this](Result<std::string> said, std::optional<DeepTestRecord> record) {
                                    end_ = std::move(said);
                                    record_ = std::move(record);
                                  }});
  }
  // The node is kept, as another agent left it some time ago.
  void reserve(Duration ago, Duration length = 30min) {
    since_ = std::chrono::floor<std::chrono::seconds>(clock_.now().wall - ago);
    ASSERT_TRUE(
        patch_node(node_, reserve_patch(node_of(node_), kPrefix, {"agent-b", since_, since_ + length})));
  }
  [[nodiscard]] std::string job_name() const { return deep_test_job_name(kNode, since_); }
  [[nodiscard]] std::string jobs(bool is_over) const {
    json::object status;
    if (is_over) status["conditions"] = json::array{json::object{{"type", "Complete"}, {"status", "True"}}};
    const json::object job{{"metadata", json::object{{"name", job_name()}, {"uid", "u-1"}}},
                           {"status", status}};
    return json::serialize(json::object{{"items", json::array{job}}});
  }
  [[nodiscard]] std::string pods(std::string_view message) const {
    const json::object owner{{"kind", "Job"}, {"name", job_name()}, {"controller", true}};
    const json::object end{{"exitCode", 0}, {"reason", "Completed"}, {"message", message}};
    const json::object status{
        {"phase", "Succeeded"},
        {"containerStatuses",
         json::array{json::object{{"name", "test"}, {"state", json::object{{"terminated", end}}}}}}};
    const json::object meta{
        {"name", "p"}, {"namespace", "autopilot"}, {"ownerReferences", json::array{owner}}};
    return json::serialize(
        json::object{{"items", json::array{json::object{{"metadata", meta}, {"status", status}}}}});
  }
  [[nodiscard]] std::string body_of(std::size_t request) const {
    const std::string text = server_->requests().at(request);
    return text.substr(text.find("\r\n\r\n") + 4);
  }
  [[nodiscard]] bool run_until_written(std::uint64_t count) {
    return run_until([this, count] { return writer_->stats().writes == count; });
  }

  DeepTestPolicy policy_ = [] {
    DeepTestPolicy policy = deep_test_policy();
    policy.every = 24h * 365;
    policy.job.owner = OwnerReference{"apps/v1", "DaemonSet", "autopilot", "u-0"};
    return policy;
  }();
  json::object node_ = node_object();
  WallTime since_{};
  ListBudget lists_;
  std::vector<std::pair<std::string, DeepTestOutcome>> told_;
  std::vector<std::string> waits_;
  std::optional<Result<std::string>> end_;  // of a test that was asked for
  std::optional<DeepTestRecord> record_;
  std::unique_ptr<DeepTester> tester_;
};

const std::string kPodWithGpu = R"({"items":[{"metadata":{"name":"train-0","namespace":"ml"},
    "spec":{"containers":[{"resources":{"limits":{"nvidia.com/gpu":"1"}}}]},"status":{"phase":"Running"}}]})";

TEST_F(DeepTesterTest, an_idle_node_is_reserved_when_a_test_is_wanted) {
  begin({ok(kEmptyList), ok(kEmptyList), ok(json::serialize(node_))});
  tester_->see(node_of(node_));
  EXPECT_THAT(requests(), IsEmpty());
  tester_->want(true);
  ASSERT_TRUE(run_until_written(1));
  EXPECT_THAT(requests(), ElementsAre("GET " + kJobs, "GET /api/v1/pods", "PATCH /api/v1/nodes/gpu-7"));
  EXPECT_THAT(server_->requests()[0], HasSubstr("labelSelector=autopilot.ibm.com%2Fdeep-test-of%3Dgpu-7 "));
  EXPECT_THAT(server_->requests()[1], HasSubstr("fieldSelector=spec.nodeName%3Dgpu-7"));
  EXPECT_THAT(body_of(2), HasSubstr(R"("key":"autopilot.ibm.com/testing","effect":"NoSchedule")"));
}

TEST_F(DeepTesterTest, a_pod_with_a_gpu_keeps_the_node) {
  begin({ok(kEmptyList), ok(kPodWithGpu)});
  tester_->see(node_of(node_));
  tester_->want(true);
  ASSERT_TRUE(run_until([this] { return requests().size() == 2; }));
  bool is_over = false;
  const auto end = loop_.after(200ms, [&] { is_over = true; });
  ASSERT_TRUE(run_until([&] { return is_over; }));
  EXPECT_EQ(requests().size(), 2U);
  EXPECT_EQ(writer_->stats().writes + writer_->stats().failures, 0U);
}

TEST_F(DeepTesterTest, a_node_that_another_one_reserved_gets_its_job_once) {
  reserve(10s);
  begin({ok(kEmptyList), ok(kEmptyList), {answer(409, R"({"reason":"AlreadyExists"})")}});
  tester_->see(node_of(node_));
  ASSERT_TRUE(run_until_written(1));
  EXPECT_EQ(requests().back(), "POST " + kJobs);
  EXPECT_THAT(body_of(2), HasSubstr(job_name()));
  EXPECT_THAT(body_of(2), HasSubstr(R"("kind":"DaemonSet","name":"autopilot","uid":"u-0")"));
  EXPECT_EQ(writer_->problem(), "");
}

TEST_F(DeepTesterTest, a_test_that_ended_is_told_before_the_node_is_released) {
  policy_.level = 3;
  reserve(60s);
  begin({ok(jobs(true)), ok(pods(kPassed)), ok("{}")});
  tester_->see(node_of(node_));
  ASSERT_TRUE(run_until_written(1));
  EXPECT_THAT(told_, ElementsAre(std::pair(job_name(), DeepTestOutcome::passed)));
  ASSERT_TRUE(patch_node(node_, body_of(2)));
  EXPECT_FALSE(testing_marks(node_of(node_), kPrefix).any());
  EXPECT_EQ(deep_test_record(node_of(node_), kPrefix).outcome, DeepTestOutcome::passed);
  EXPECT_EQ(deep_test_record(node_of(node_), kPrefix).level, 3);
}

TEST_F(DeepTesterTest, a_job_whose_time_is_over_is_deleted_and_may_be_gone_already) {
  reserve(31min);
  begin({ok(jobs(false)), ok(kEmptyList), {answer(404, R"({"reason":"NotFound"})")}});
  tester_->see(node_of(node_));
  ASSERT_TRUE(run_until_written(1));
  EXPECT_THAT(requests().back(), HasSubstr("DELETE " + kJobs + "/" + job_name()));
  EXPECT_THAT(body_of(2), HasSubstr(R"("propagationPolicy":"Foreground","preconditions":{"uid":"u-1"})"));
  EXPECT_EQ(writer_->stats().failures, 0U);
}

TEST_F(DeepTesterTest, where_nobody_may_look_a_node_is_not_kept_for_ever) {
  reserve(40min);
  begin({{answer(403, R"({"reason":"Forbidden","message":"jobs is forbidden"})")}, ok("{}")});
  tester_->see(node_of(node_));
  ASSERT_TRUE(run_until_written(1));
  EXPECT_EQ(requests().back(), "PATCH /api/v1/nodes/gpu-7");
}

TEST_F(DeepTesterTest, a_release_that_was_refused_drops_what_was_seen) {
  reserve(60s);
  begin({ok(jobs(true)), ok(pods(kPassed)), {answer(409, R"({"reason":"Conflict"})")}});
  tester_->see(node_of(node_));
  ASSERT_TRUE(run_until([this] { return writer_->stats().failures == 1; }));
  bool is_over = false;
  const auto end = loop_.after(500ms, [&] { is_over = true; });
  ASSERT_TRUE(run_until([&] { return is_over; }));
  // The next look is due later.
  EXPECT_EQ(requests().size(), 3U);
}

TEST_F(DeepTesterTest, waits_where_others_of_its_agent_have_asked_for_lists) {
  lists_.take(3, clock_.now().mono);
  reserve(60s);
  begin({ok(kEmptyList)});
  tester_->see(node_of(node_));
  bool is_over = false;
  const auto end = loop_.after(200ms, [&] { is_over = true; });
  ASSERT_TRUE(run_until([&] { return is_over; }));
  EXPECT_THAT(requests(), IsEmpty());
}

TEST_F(DeepTesterTest, while_another_agent_writes_nothing_is_begun) {
  begin({ok(kEmptyList)});
  writer_->hold(true);
  tester_->see(node_of(node_));
  tester_->want(true);
  bool is_over = false;
  const auto end = loop_.after(200ms, [&] { is_over = true; });
  ASSERT_TRUE(run_until([&] { return is_over; }));
  EXPECT_THAT(requests(), IsEmpty());
}

TEST_F(DeepTesterTest, image_and_owner_are_those_of_its_own_pod) {
  policy_.job.image.clear();
  policy_.job.owner.reset();
  reserve(10s);
  begin({ok(R"({"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"DaemonSet","name":"ap",
             "uid":"u-9","controller":true}]},"spec":{"containers":[{"name":"agent","image":"ours:7"}]}})"),
         ok(kEmptyList), ok(kEmptyList), ok("{}")},
        "ap-x");
  tester_->see(node_of(node_));
  ASSERT_TRUE(run_until_written(1));
  EXPECT_EQ(requests().front().substr(0, 44), "GET /api/v1/namespaces/autopilot/pods/ap-x H");
  EXPECT_THAT(body_of(3), HasSubstr(R"("image":"ours:7")"));
  EXPECT_THAT(body_of(3), HasSubstr(R"("name":"ap","uid":"u-9")"));
}

TEST_F(DeepTesterTest, without_an_image_nothing_is_tested) {
  policy_.job.image.clear();
  begin({ok(kEmptyList)});
  tester_->see(node_of(node_));
  tester_->want(true);
  bool is_over = false;
  const auto end = loop_.after(200ms, [&] { is_over = true; });
  ASSERT_TRUE(run_until([&] { return is_over; }));
  EXPECT_THAT(requests(), IsEmpty());
}

TEST_F(DeepTesterTest, a_test_that_is_asked_for_begins_at_once_on_an_idle_node) {
  begin({ok(kEmptyList), ok(kEmptyList), ok(json::serialize(node_))});
  EXPECT_EQ(test_now().error().code, Errc::unavailable);  // the node was not seen
  tester_->see(node_of(node_));
  ASSERT_TRUE(test_now().has_value());
  ASSERT_TRUE(run_until_written(1));
  EXPECT_EQ(requests().back(), "PATCH /api/v1/nodes/gpu-7");
  EXPECT_FALSE(end_.has_value());
}

TEST_F(DeepTesterTest, a_test_that_is_asked_for_is_none_where_a_pod_has_a_gpu) {
  begin({ok(kEmptyList), ok(kPodWithGpu)});
  tester_->see(node_of(node_));
  ASSERT_TRUE(test_now().has_value());
  ASSERT_TRUE(run_until([this] { return end_.has_value(); }));
  EXPECT_EQ(end_->error().code, Errc::conflict);
  EXPECT_EQ(end_->error().what, "GPU in use by ml/train-0");
  EXPECT_FALSE(record_.has_value());
  // Nobody waits for the node to become idle.
  bool is_over = false;
  const auto end = loop_.after(200ms, [&] { is_over = true; });
  ASSERT_TRUE(run_until([&] { return is_over; }));
  EXPECT_EQ(requests().size(), 2U);
}

TEST_F(DeepTesterTest, a_test_that_is_asked_for_says_what_else_keeps_the_node_from_it) {
  node_["spec"].as_object()["unschedulable"] = true;
  begin({ok(kEmptyList), ok(kEmptyList)});
  tester_->see(node_of(node_));
  ASSERT_TRUE(test_now().has_value());
  ASSERT_TRUE(run_until([this] { return end_.has_value(); }));
  EXPECT_EQ(end_->error().code, Errc::unavailable);
  EXPECT_EQ(end_->error().what, "the node is cordoned");
}

TEST_F(DeepTesterTest, a_test_that_is_asked_for_needs_to_look_and_an_image) {
  begin({{answer(403, R"({"reason":"Forbidden","message":"jobs is forbidden"})")}});
  tester_->see(node_of(node_));
  ASSERT_TRUE(test_now().has_value());
  ASSERT_TRUE(run_until([this] { return end_.has_value(); }));
  EXPECT_THAT(end_->error().what, HasSubstr("jobs is forbidden"));
  end_.reset();
  policy_.job.image.clear();
  begin({});
  tester_->see(node_of(node_));
  ASSERT_TRUE(test_now().has_value());
  ASSERT_TRUE(run_until([this] { return end_.has_value(); }));
  EXPECT_THAT(end_->error().what, HasSubstr("no image"));
}

TEST_F(DeepTesterTest, the_end_of_a_test_that_runs_is_as_good_as_that_of_the_one_asked_for) {
  reserve(60s);
  json::object released = node_;
  const DeepTestRecord record{.outcome = DeepTestOutcome::failed,
                              .test = job_name(),
                              .level = 3,
                              .began = since_,
                              .finished = since_ + 1min,
                              .failed = "targeted_power.1",
                              .tried = {},
                              .why = {}};
  ASSERT_TRUE(patch_node(released, release_patch(node_of(node_), kPrefix, record)));
  begin({ok(jobs(true)), ok(pods(kFailed)), ok(json::serialize(released))});
  tester_->see(node_of(node_));
  ASSERT_TRUE(test_now().has_value());
  ASSERT_TRUE(run_until([this] { return end_.has_value(); }));
  ASSERT_TRUE(end_->has_value());
  EXPECT_EQ(**end_, "failed: targeted_power.1");
  EXPECT_EQ(record_, record);
}

TEST_F(DeepTesterTest, a_test_that_is_cancelled_is_taken_away) {
  reserve(60s);
  begin({ok(jobs(false)), ok(kEmptyList), ok("{}")});
  tester_->see(node_of(node_));
  ASSERT_TRUE(test_now().has_value());
  tester_->cancel();
  ASSERT_TRUE(run_until_written(1));
  EXPECT_THAT(requests().back(), HasSubstr("DELETE " + kJobs + "/" + job_name()));
  EXPECT_FALSE(end_.has_value());
}

TEST_F(DeepTesterTest, who_asks_after_a_cancel_waits_for_another_test) {
  reserve(60s);
  json::object released = node_;
  const DeepTestRecord record{.outcome = {},
                              .test = {},
                              .began = {},
                              .finished = {},
                              .failed = {},
                              .tried = since_,
                              .why = "it ended"};
  ASSERT_TRUE(patch_node(released, release_patch(node_of(node_), kPrefix, record)));
  begin({ok(jobs(true)), ok(kEmptyList), ok(json::serialize(released))});
  tester_->see(node_of(node_));
  ASSERT_TRUE(test_now().has_value());
  tester_->cancel();
  ASSERT_TRUE(test_now().has_value());
  ASSERT_TRUE(run_until_written(1));
  EXPECT_EQ(requests().back(), "PATCH /api/v1/nodes/gpu-7");
  EXPECT_FALSE(end_.has_value());
}

}  // namespace
}  // namespace autopilot::diagnostics
