// SPDX-License-Identifier: Apache-2.0
#include "kube/attribution/attribution.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "tests/support/kube/cluster_fixture.hpp"

namespace autopilot::kube {
namespace {

using net::testing::answer;
using net::testing::pieces;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string pod_text(const std::string& name, const std::string& phase = "Running") {
  return R"({"metadata":{"namespace":"ml","name":")" + name + R"(","uid":")" + name +
         R"(","resourceVersion":"9"},"spec":{"containers":[{"resources":{"limits":{"nvidia.com/gpu":"1"}}}]},)" +
         R"("status":{"phase":")" + phase + R"("}})";
}

std::string list(const std::string& pods) {
  return answer(200, R"({"metadata":{"resourceVersion":"7"},"items":[)" + pods + "]}");
}

std::string event(const std::string& type, const std::string& object) {
  return R"({"type":")" + type + R"(","object":)" + object + "}";
}

// What gpu.processes has seen last.
NodeSnapshot look(std::vector<std::string> witnesses, bool has_completed = true) {
  NodeSnapshot snapshot;
  CheckResult& result = snapshot.results.emplace_back();
  result.check = "gpu.processes";
  result.witnesses = std::move(witnesses);
  if (has_completed) result.completed = WallTime{std::chrono::seconds{1}};
  return snapshot;
}

class AttributionTest : public testing::ClusterFixture {
 protected:
  void start(std::vector<net::testing::Scripted> script) {
    serve(std::move(script));
    attribution_ = std::make_unique<Attribution>(
        loop_, *client_, clock_, "node-1", [] { return 0.5; },
        [this](const Observations& holders) {
          ++tells_;
          told_.clear();
          for (const Observation& holder : holders)
            told_.push_back(holder.name);
        },
        PodListener{.begin_list = [this] { seen_.emplace_back("list"); },
                    .put = [this](const Pod& pod) { seen_.push_back(pod.meta.name); },
                    .end_list = [this] { seen_.emplace_back("complete"); },
                    .remove = [this](const Pod& pod) { seen_.push_back("without " + pod.meta.name); }});
    attribution_->start();
  }
  [[nodiscard]] bool run_until_told(const std::vector<std::string>& names) {
    return run_until([&] { return told_ == names; });
  }

  std::vector<std::string> told_;
  std::vector<std::string> seen_;  // by the listener
  int tells_ = 0;
  std::unique_ptr<Attribution> attribution_;
};

TEST_F(AttributionTest, tells_of_the_pods_of_its_node_and_of_what_changes) {
  start({{list(pod_text("train-0"))}, {pieces({event("ADDED", pod_text("train-1"))}, false), true}});
  attribution_->note(look({"nvml"}));
  EXPECT_TRUE(run_until_told({"pod.ml/train-0", "pod.ml/train-1"}));
  EXPECT_EQ(attribution_->holder().value(), "ml/train-0");
  EXPECT_THAT(server_->requests()[0], HasSubstr("fieldSelector=spec.nodeName%3Dnode-1"));
  EXPECT_THAT(attribution_->problem(), IsEmpty());
}

TEST_F(AttributionTest, is_silent_until_it_is_known_that_nobody_knows_better) {
  start({{list(pod_text("train-0"))}, {pieces({}, false), true}});
  EXPECT_TRUE(run_until([this] { return requests().size() == 2; }));
  EXPECT_THAT(told_, IsEmpty());
  attribution_->note(look({}, false));
  attribution_->note(look({"nvml", "kubelet"}));
  EXPECT_THAT(told_, IsEmpty());
  attribution_->note(look({"nvml"}));
  EXPECT_THAT(told_, ElementsAre("pod.ml/train-0"));
}

TEST_F(AttributionTest, a_listener_gets_all_pods_also_while_the_kubelet_knows_better) {
  start(
      {{list(pod_text("train-0"))},
       {pieces({event("ADDED", pod_text("train-1")), event("DELETED", pod_text("train-0"))}, false), true}});
  attribution_->note(look({"kubelet"}));
  EXPECT_TRUE(run_until([this] { return seen_.size() == 5; }));
  EXPECT_THAT(seen_, ElementsAre("list", "train-0", "complete", "train-1", "without train-0"));
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(AttributionTest, tells_also_where_nobody_looks_at_processes) {
  start({{list(pod_text("train-0"))}, {pieces({}, false), true}});
  attribution_->note(NodeSnapshot{});
  EXPECT_TRUE(run_until_told({"pod.ml/train-0"}));
}

TEST_F(AttributionTest, tells_of_a_pod_once_more_when_it_goes) {
  start({{list(pod_text("train-0"))}, {pieces({event("DELETED", pod_text("train-0"))}, false), true}});
  EXPECT_THAT(attribution_->holder().error().what, HasSubstr("not seen yet"));
  attribution_->note(look({"nvml"}));
  EXPECT_TRUE(run_until([this] { return tells_ == 2; }));
  EXPECT_EQ(attribution_->holder().value(), "") << "nobody holds one now";
  EXPECT_THAT(told_, ElementsAre("pod.ml/train-0"));
  told_.clear();
  attribution_->note(look({"kubelet"}));
  attribution_->note(look({"nvml"}));
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(AttributionTest, says_what_it_may_not) {
  start({{answer(403, R"({"kind":"Status","code":403,"message":"pods is forbidden"})")}});
  EXPECT_TRUE(run_until([this] { return !attribution_->problem().empty(); }));
  EXPECT_THAT(attribution_->problem(), HasSubstr("the pods of this node cannot be seen"));
  EXPECT_THAT(attribution_->problem(), HasSubstr("pods is forbidden"));
  EXPECT_THAT(attribution_->holder().error().what, HasSubstr("pods is forbidden"));
  attribution_->note(look({"nvml"}));
  EXPECT_THAT(told_, IsEmpty());
}

}  // namespace
}  // namespace autopilot::kube
