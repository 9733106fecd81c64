// SPDX-License-Identifier: Apache-2.0
#include "controller/reconcilers/node_look.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/objects.hpp"

namespace autopilot::controller {
namespace {

using ::testing::IsEmpty;

NodeLook read(const std::string& status) {
  NodeLook look;
  const std::string text = R"({"metadata": {"name": "n1"}, "status": )" + status + "}";
  EXPECT_TRUE(
      kube::read_object(text, [&look](const kube::JsonObject& object) { look = parse_node_look(object); }));
  return look;
}

std::string incidents(const std::string& more, const std::string& evicting) {
  return R"({"observedAt": "2026-11-21T08:00:00Z", "written": {"verdict": "EVICT", "evicting": [)" +
         evicting +
         R"(]}, "incidents": [{"id": "i-1", "state": "open", "check": "gpu.xid", "reason": "xid_79",
            "blamed": {"kind": "gpu", "key": "0000:3b:00.0"}, "health": "failed", "action": "power_cycle",
            "opened": "2026-11-21T07:00:00Z")" +
         more + "}]}";
}
const std::string kHolds = R"({"incident": "i-1", "acknowledged": false})";

TEST(NodeLook, has_the_incidents_that_take_the_node_out_of_service) {
  const NodeLook look = read(incidents("", kHolds));
  EXPECT_EQ(look.meta.name, "n1");
  EXPECT_EQ(look.written, Verdict::evict);
  EXPECT_EQ(look.observed, parse_time("2026-11-21T08:00:00Z"));
  ASSERT_EQ(look.causes.size(), 1U);
  EXPECT_EQ(look.causes[0], (OpenCause{.incident = "i-1",
                                       .cause = "xid_79",
                                       .blamed = "gpu/0000:3b:00.0",
                                       .action = Action::power_cycle,
                                       .since = *parse_time("2026-11-21T07:00:00Z"),
                                       .is_passive = true}));
  EXPECT_EQ(read(incidents(R"(, "cause": "fallen_off")", kHolds)).causes[0].cause, "fallen_off");
}

TEST(NodeLook, has_none_that_holds_nothing_is_closed_was_seen_by_a_person_or_was_tried_out) {
  EXPECT_THAT(read(incidents("", "")).causes, IsEmpty());
  EXPECT_THAT(read(incidents("", R"({"incident": "i-1", "acknowledged": true})")).causes, IsEmpty());
  EXPECT_THAT(read(incidents("", R"({"incident": "i-1", "closed": "2026-11-21T08:00:00Z"})")).causes,
              IsEmpty());
  EXPECT_THAT(read(incidents(R"(, "injected": true)", kHolds)).causes, IsEmpty());
}

TEST(NodeLook, knows_what_a_test_has_shown) {
  for (const std::string check : {"gpu.diagnosis", "gpu.dcgm", "gpu.pcie_bandwidth", "gpu.memory_bandwidth",
                                  "gpu.compute", "gpu.memory_test", "gpu.sdc", "gpu.p2p"}) {
    const std::string text = R"({"written": {"evicting": [{"incident": "i-1"}]}, "incidents": [
    {"id": "i-1", "check": ")" +
                             check + R"(", "reason": "something"}]})";
    EXPECT_FALSE(read(text).causes.at(0).is_passive) << check;
  }
}

TEST(NodeLook, a_test_was_passed_when_every_gpu_has_and_then_by_the_oldest) {
  const std::string passes = R"([
    {"gpuUuid": "A", "test": "t", "time": "2026-11-21T08:00:00Z"}, {"gpuUuid": "B", "test": "t", "time": "2026-11-21T07:00:00Z"},
    {"gpuUuid": "B", "test": "t", "time": "2026-11-21T06:00:00Z"}, {"gpuUuid": "A", "test": "other", "time": "2026-11-21T08:00:00Z"},
    {"gpuUuid": "B", "test": "other"}])";
  const auto with = [&](const std::string& gpus) {
    return read(R"({"gpus": )" + gpus + R"(, "passRecords": )" + passes + "}").passed;
  };
  const auto passed = with(R"([{"uuid": "A"}, {"uuid": "B"}])");
  ASSERT_EQ(passed.size(), 1U);
  EXPECT_EQ(passed.at("t"), parse_time("2026-11-21T07:00:00Z"));
  EXPECT_THAT(with(R"([{"uuid": "A"}, {"uuid": "C"}])").count("t"), 0U);
  EXPECT_THAT(with(R"([{"uuid": "A"}, {"key": "one that is lost"}])"), IsEmpty());
  EXPECT_THAT(with("[]"), IsEmpty());
}

TEST(NodeLook, is_unknown_where_a_required_check_has_not_looked) {
  const auto with = [](const char* required, const char* health) {
    return read(std::string(R"({"checks": [{"check": "c", "required": )") + required + R"(, "health": ")" +
                health + R"("}]})")
        .is_unknown;
  };
  EXPECT_TRUE(with("true", "unknown"));
  EXPECT_FALSE(with("false", "unknown"));
  EXPECT_FALSE(with("true", "failed"));
}

TEST(NodeLook, says_the_same_at_another_time) {
  const NodeLook one = read(incidents("", kHolds));
  NodeLook other = one;
  other.observed = parse_time("2026-11-21T09:00:00Z");
  other.meta.version = "9";
  EXPECT_TRUE(says_the_same(one, other));
  other.causes.clear();
  EXPECT_FALSE(says_the_same(one, other));
}

}  // namespace
}  // namespace autopilot::controller
