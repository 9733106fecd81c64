// SPDX-License-Identifier: Apache-2.0
#include "agent/deep_test_link.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/diagnostics/deep_test_fixture.hpp"
#include "tests/support/kube/cluster_fixture.hpp"

namespace autopilot::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kPrefix = "autopilot.ibm.com";

// What stands on a node, and what the rest of the agent hears of it.
class DeepTestLinkTest : public kube::testing::ClusterFixture {
 protected:
  void SetUp() override { begin({}, 24h * 365); }
  void begin(std::vector<net::testing::Scripted> script, Duration every) {
    link_.reset();
    serve(std::move(script));
    diagnostics::DeepTestPolicy policy = diagnostics::deep_test_policy();
    policy.every = every;
    DeepTestOutlets outlets;
    outlets.reserve = [this](bool is_reserved) { reserved_.push_back(is_reserved); };
    outlets.judge = [this](Result<Observations> seen, std::function<void()> on_judged) {
      seen_ = std::move(seen);
      on_judged_ = std::move(on_judged);
    };
    outlets.pass = [](const std::vector<PassRecord>&) {};
    link_ = std::make_unique<DeepTestLink>(loop_, *client_, *writer_, lists_, clock_, policy, "", outlets);
  }
  // A test that is asked for, and what is told at its end.
  Status test_now() {
    return link_->test_now({.on_progress = [](const std::string&) {},
                            .on_end = [this](Result<std::string> said) { end_ = std::move(said); }});
  }
  void reserve() {
    ASSERT_TRUE(diagnostics::patch_node(
        node_, diagnostics::reserve_patch(diagnostics::node_of(node_), kPrefix,
                                          {"a", diagnostics::kBegin, diagnostics::kBegin + 1h})));
    link_->see(diagnostics::node_of(node_));
  }
  void release(diagnostics::DeepTestOutcome outcome) {
    const diagnostics::DeepTestRecord record{.outcome = outcome,
                                             .test = "t",
                                             .level = 3,
                                             .began = diagnostics::kBegin,
                                             .finished = diagnostics::kBegin + 1min,
                                             .failed = "",
                                             .tried = {},
                                             .why = {}};
    ASSERT_TRUE(diagnostics::patch_node(
        node_, diagnostics::release_patch(diagnostics::node_of(node_), kPrefix, record)));
    link_->see(diagnostics::node_of(node_));
  }

  boost::json::object node_ = diagnostics::node_object();
  std::vector<bool> reserved_;
  diagnostics::ListBudget lists_;
  Result<Observations> seen_ = fail(Errc::internal, "not told");
  std::function<void()> on_judged_;
  std::optional<Result<std::string>> end_;
  std::unique_ptr<DeepTestLink> link_;
};

TEST_F(DeepTestLinkTest, a_node_without_a_test_is_judged_as_such_first) {
  EXPECT_FALSE(link_->is_judged());
  link_->see(diagnostics::node_of(node_));
  EXPECT_EQ(seen_.error().code, Errc::unavailable);
  EXPECT_FALSE(link_->is_judged());
  on_judged_();
  EXPECT_TRUE(link_->is_judged());
  EXPECT_TRUE(reserved_.empty());
  EXPECT_FALSE(link_->passed());
}

TEST_F(DeepTestLinkTest, a_released_node_is_testing_until_the_result_was_judged) {
  link_->see(diagnostics::node_of(node_));
  on_judged_();
  reserve();
  EXPECT_THAT(reserved_, ElementsAre(true));
  release(diagnostics::DeepTestOutcome::fatal);
  ASSERT_TRUE(seen_);
  EXPECT_EQ(seen_->front().value, Value("fatal"));
  EXPECT_THAT(reserved_, ElementsAre(true));
  on_judged_();
  EXPECT_THAT(reserved_, ElementsAre(true, false));
  EXPECT_FALSE(link_->passed());
}

TEST_F(DeepTestLinkTest, a_judgement_of_before_does_not_count) {
  link_->see(diagnostics::node_of(node_));
  const auto old = on_judged_;
  reserve();
  release(diagnostics::DeepTestOutcome::passed);
  old();
  EXPECT_FALSE(link_->is_judged());
  on_judged_();
  EXPECT_TRUE(link_->is_judged());
  EXPECT_EQ(link_->passed(), diagnostics::kBegin);
}

TEST_F(DeepTestLinkTest, gpus_that_are_known_later_are_named_later) {
  reserve();
  release(diagnostics::DeepTestOutcome::fatal);
  on_judged_();
  NodeSnapshot snapshot;
  link_->note(snapshot);
  EXPECT_TRUE(link_->is_judged());
  Observation state;
  state.name = "gpu.state";
  state.subject = {.kind = SubjectKind::gpu, .key = "0000:01:00.0", .index = 0, .uuid = {}, .serial = {}};
  CheckResult present;
  present.check = "gpu.present";
  present.observations = Observations{state};
  snapshot.results = {present};
  link_->note(snapshot);
  EXPECT_FALSE(link_->is_judged());
}

TEST_F(DeepTestLinkTest, no_test_is_made_where_they_are_switched_off) {
  begin({}, 0s);
  link_->see(diagnostics::node_of(node_));
  EXPECT_THAT(test_now().error().what, HasSubstr("`deep_test.every` is 0s"));
}

TEST_F(DeepTestLinkTest, the_end_of_a_test_is_told_when_it_has_been_judged) {
  const WallTime since = std::chrono::floor<std::chrono::seconds>(clock_.now().wall - 60s);
  ASSERT_TRUE(diagnostics::patch_node(
      node_, diagnostics::reserve_patch(diagnostics::node_of(node_), kPrefix, {"a", since, since + 30min})));
  boost::json::object released = node_;
  const diagnostics::DeepTestRecord record{.outcome = diagnostics::DeepTestOutcome::not_tested,
                                           .test = "",
                                           .level = 0,
                                           .began = {},
                                           .finished = {},
                                           .failed = "",
                                           .tried = since + 60s,
                                           .why = "the test left no result"};
  ASSERT_TRUE(diagnostics::patch_node(
      released, diagnostics::release_patch(diagnostics::node_of(node_), kPrefix, record)));
  const std::string job =
      R"({"items":[{"metadata":{"name":")" + diagnostics::deep_test_job_name(diagnostics::kNode, since) +
      R"(","uid":"u-1"},"status":{"conditions":[{"type":"Complete","status":"True"}]}}]})";
  begin({{net::testing::answer(200, job)},
         {net::testing::answer(200, R"({"items":[]})")},
         {net::testing::answer(200, boost::json::serialize(released))}},
        24h * 365);
  link_->see(diagnostics::node_of(node_));
  on_judged_();
  ASSERT_TRUE(test_now().has_value());
  ASSERT_TRUE(run_until([this] { return writer_->stats().writes == 1; }));
  EXPECT_FALSE(end_.has_value());
  link_->see(diagnostics::node_of(released));
  EXPECT_FALSE(end_.has_value());
  on_judged_();
  ASSERT_TRUE(end_.has_value());
  EXPECT_EQ(end_->error().what, "the test left no result");
}

}  // namespace
}  // namespace autopilot::agent
