// SPDX-License-Identifier: Apache-2.0
#include "kube/remediation_request.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace autopilot::kube {
namespace {

using namespace std::chrono_literals;

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
