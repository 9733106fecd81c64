// SPDX-License-Identifier: Apache-2.0

#include "kube/remediation.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::kube {

namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

const WallTime kNow{1'800'000'000'123ms};

PlanSpec spec() {
  return {.node = "gpu-7",
          .node_uid = "n-1",
          .pool = "h100",
          .domain = "rack-3",
          .cause = "gpu.pcie_bandwidth",
          .created = kNow,
          .evidence = {"gpu-7-0123456789"},
          .tests = {"gpu.pcie_bandwidth"},
          .jobs = {"j-1"},
          .steps = {"cordon gpu-7"},
          .budget = "pool 0 of 3"};
}

PlanStatus status() {
  PlanStatus status;
  status.phase = "held";
  status.brake = "rate";
  status.message = "m";
  status.problem = "p";
  status.holds = true;
  status.is_released = true;
  status.updated = kNow;
  status.begun = kNow - 1s;
  status.would_hold = kNow - 2s;
  status.returned = kNow + 1s;
  status.latest_evidence = kNow - 2s;
  status.evidence = {"a", "b"};
  status.tests = {"t"};
  status.jobs = {"j-1", "j-2"};
  status.steps = {"s"};
  status.budget = "b";
  status.spare = "gpu-9";
  status.done = {{"cordon", "gpu-7", kNow, false}, {"evict_pod", "ml/train-0", kNow, true}};
  return status;
}

// What a server has after both writes.
RemediationPlan written(const PlanSpec& spec, const PlanStatus& status) {
  auto object = boost::json::parse(remediation_plan_json("gpu-7-1", spec)).as_object();
  object["status"] = boost::json::parse(plan_status_patch(status, "12")).as_object().at("status");
  return parse_remediation_plan(boost::json::serialize(object)).value();
}

TEST(RemediationPlan, reads_what_it_writes) {
  const RemediationPlan plan = written(spec(), status());
  EXPECT_EQ(plan.meta.name, "gpu-7-1");
  EXPECT_EQ(plan.spec, spec());
  EXPECT_EQ(plan.status, status());
}

TEST(RemediationPlan, leaves_nothing_of_the_status_before) {
  PlanStatus bare;
  bare.phase = "over";
  EXPECT_EQ(written(spec(), bare).status, bare);
  const std::string patch = plan_status_patch(bare, "12");
  EXPECT_THAT(patch, HasSubstr(R"("metadata":{"resourceVersion":"12"})"));
  for (const char* gone : {"brake", "message", "problem", "begun", "wouldHold", "returned", "spare"})
    EXPECT_THAT(patch, HasSubstr('"' + std::string(gone) + "\":null")) << gone;
}

TEST(RemediationPlan, without_a_status_has_none) {
  const auto plan = parse_remediation_plan(remediation_plan_json("gpu-7-1", spec()));
  ASSERT_TRUE(plan.has_value());
  EXPECT_FALSE(plan->status.has_value());
  EXPECT_FALSE(parse_remediation_plan("no object").has_value());
  EXPECT_EQ(parse_remediation_plan("{\"spec\": 3, \"status\": []}")->spec, PlanSpec{});
}

TEST(RemediationPlan, is_listed_with_what_stands_there_now) {
  RemediationPlan plan{.meta = {}, .spec = spec(), .status = status()};
  plan.meta.name = "gpu-7-1";
  plan.status->problem.clear();
  const auto items = boost::json::parse(plans_json({&plan, 1})).at("items").as_array();
  ASSERT_EQ(items.size(), 1U);
  const auto& item = items[0].as_object();
  EXPECT_EQ(item.at("name").as_string(), "gpu-7-1");
  EXPECT_EQ(item.at("node").as_string(), "gpu-7");
  EXPECT_EQ(item.at("phase").as_string(), "held");
  EXPECT_EQ(item.at("evidence").as_array().size(), 2U);
  EXPECT_FALSE(item.contains("problem"));
  EXPECT_EQ(item.at("done").at(1).at("counted").as_bool(), true);
  plan.status.reset();
  EXPECT_THAT(plans_json({&plan, 1}), HasSubstr(R"("evidence":["gpu-7-0123456789"])"));
  EXPECT_EQ(plans_json({}), R"({"items":[]})");
}

TEST(RemediationPlan, is_cut_to_what_the_schema_takes) {
  PlanStatus large = status();
  large.message = std::string(5000, 'm') + "\xff";
  large.evidence.clear();
  for (int i = 0; i < 1000; ++i)
    large.evidence.push_back(std::to_string(i));
  large.done.assign(1000, {"evict_pod", "t", kNow, true});
  large.done.back().target = "the newest";
  const PlanStatus read = written(spec(), large).status.value();
  EXPECT_EQ(read.message.size(), 1024U);
  ASSERT_EQ(read.evidence.size(), 64U);
  EXPECT_EQ(read.evidence.front(), "0");
  EXPECT_EQ(read.evidence.back(), "999");
  ASSERT_EQ(read.done.size(), 128U);
  EXPECT_EQ(read.done.back().target, "the newest");
}

TEST(RemediationRequest, reads_what_it_writes_and_what_became_of_it) {
  const RequestSpec spec{.node = "gpu-7",
                         .node_uid = "n-1",
                         .action = "reset_gpu",
                         .subject = "gpu/0000:3b:00.0",
                         .plan = "gpu-7-1",
                         .incident = "0a-1",
                         .message = "the GPU is lost",
                         .created = WallTime{1'800'000'000'123ms}};
  auto object = boost::json::parse(
                    remediation_request_json("gpu-7-1-reset-gpu", spec, {.name = "gpu-7-1", .uid = "p-1"}))
                    .as_object();
  const auto asked = parse_remediation_request(boost::json::serialize(object));
  ASSERT_TRUE(asked.has_value());
  EXPECT_EQ(asked->meta.name, "gpu-7-1-reset-gpu");
  EXPECT_EQ(asked->spec, spec);
  EXPECT_EQ(asked->phase, "");
  const auto& owner = object.at("metadata").at("ownerReferences").at(0).as_object();
  EXPECT_EQ(owner.at("kind").as_string(), "RemediationPlan");
  EXPECT_EQ(owner.at("uid").as_string(), "p-1") << "it goes with its plan";

  object["status"] = boost::json::object{
      {"phase", "done"}, {"by", "ops"}, {"message", "m"}, {"finished", "2026-11-21T08:00:00Z"}};
  const auto done = parse_remediation_request(boost::json::serialize(object));
  EXPECT_EQ(done->phase, "done");
  EXPECT_EQ(done->by, "ops");
  EXPECT_EQ(done->message, "m");
  EXPECT_EQ(done->finished, parse_time("2026-11-21T08:00:00Z"));
}

TEST(RemediationRequest, is_cut_to_what_the_schema_takes) {
  RequestSpec spec{.node = "gpu-7", .action = "replace", .plan = "p"};
  spec.message = std::string(5000, 'm');
  EXPECT_EQ(parse_remediation_request(remediation_request_json("r", spec, {}))->spec.message.size(), 1024U);
  EXPECT_FALSE(parse_remediation_request("[]").has_value());
}

}  // namespace

}  // namespace autopilot::kube
