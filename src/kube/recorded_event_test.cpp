// SPDX-License-Identifier: Apache-2.0
#include "kube/recorded_event.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "kube/json_object.hpp"

namespace autopilot::kube {
namespace {

RecordedEvent read_event(std::string_view text) {
  const auto value = boost::json::parse({text.data(), text.size()});
  return parse_recorded_event({value.as_object()});
}

TEST(RecordedEvent, says_who_told_what_about_whom_and_when) {
  const auto event =
      read_event(R"({"involvedObject": {"kind": "Node", "name": "gpu-7"}, "type": "Warning", "reason": "Xid",
    "message": "m", "count": 3, "firstTimestamp": "2026-11-21T08:00:00Z", "lastTimestamp": "2026-11-21T08:05:00Z",
    "eventTime": null, "source": {"component": "old"}, "reportingComponent": "autopilot-agent"})");
  EXPECT_EQ(event.kind, "Node");
  EXPECT_EQ(event.name, "gpu-7");
  EXPECT_EQ(event.component, "autopilot-agent");
  EXPECT_EQ(event.type, "Warning");
  EXPECT_EQ(event.reason, "Xid");
  EXPECT_EQ(event.message, "m");
  EXPECT_EQ(event.count, 3);
  EXPECT_EQ(event.first, parse_time("2026-11-21T08:00:00Z"));
  EXPECT_EQ(event.last, parse_time("2026-11-21T08:05:00Z"));
}

TEST(RecordedEvent, may_be_a_series) {
  const auto event =
      read_event(R"({"source": {"component": "kubelet"}, "eventTime": "2026-11-21T08:00:00.000001Z",
    "series": {"count": 9, "lastObservedTime": "2026-11-21T09:00:00Z"}})");
  EXPECT_EQ(event.component, "kubelet");
  EXPECT_EQ(event.count, 9);
  EXPECT_EQ(event.last, parse_time("2026-11-21T09:00:00Z"));
}

TEST(RecordedEvent, of_which_only_its_creation_is_known_happened_then) {
  const auto event =
      read_event(R"({"metadata": {"creationTimestamp": "2026-11-21T08:00:00Z"}, "count": -4})");
  EXPECT_EQ(event.first, parse_time("2026-11-21T08:00:00Z"));
  EXPECT_EQ(event.last, event.first);
  EXPECT_EQ(event.count, 1);
  EXPECT_FALSE(read_event("{}").last);
}

}  // namespace
}  // namespace autopilot::kube
