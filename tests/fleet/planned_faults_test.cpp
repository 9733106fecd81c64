// SPDX-License-Identifier: Apache-2.0
#include "fleet/planned_faults.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

namespace autopilot::fleet {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::vector<std::string> names(int count) {
  std::vector<std::string> nodes;
  for (int i = 0; i < count; ++i)
    nodes.push_back("sim-" + std::to_string(i));
  return nodes;
}

std::string texts(const std::vector<PlannedFault>& faults) {
  std::string text;
  for (const PlannedFault& fault : faults)
    text += to_string(fault) + "\n";
  return text;
}

TEST(PlannedFaults, say_who_what_where_and_when) {
  const auto fault =
      parse_planned_fault("for=30s,node=sim-3,fault=xid,subject=gpu/2,magnitude=79,at=10s").value();
  EXPECT_EQ(fault.node, "sim-3");
  EXPECT_EQ(fault.request.fault, "xid");
  EXPECT_EQ(to_string(fault.request.subject), "gpu/2");
  EXPECT_EQ(fault.request.magnitude, 79.0);
  EXPECT_EQ(fault.at, 10s);
  EXPECT_EQ(fault.request.duration, 30s);
  EXPECT_EQ(to_string(fault), "sim-3: xid gpu/2 79, at 10s for 30s");
}

TEST(PlannedFaults, need_no_more_than_a_node_and_a_fault) {
  const auto fault = parse_planned_fault("node=sim-0,fault=library_missing").value();
  EXPECT_EQ(fault.at, 0s);
  EXPECT_FALSE(fault.request.duration);
  EXPECT_EQ(to_string(fault), "sim-0: library_missing, at 0s");
}

TEST(PlannedFaults, that_are_not_understood_say_why) {
  for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
           {"", "expected node="},
           {"sim-3", "expected node="},
           {"fault=xid", "node= is missing"},
           {"node=sim-3", "fault= is missing"},
           {"node=sim-3,fault=", "fault= is missing"},
           {"node=a,fault=xid,node=b", "node= stands there twice"},
           {"node=a,fault=xid,when=1s", "'when=1s'"},
           {"node=a,fault=xid,at=soon", "'soon'"},
           {"node=a,fault=xid,magnitude=many", "a number"},
           {"node=a,fault=xid,subject=toaster/1", "kind/key"},
           {"node=a,fault=nonsense", "no 'nonsense'; `autopilot-sim faults` lists them"},
       }) {
    const auto fault = parse_planned_fault(text);
    ASSERT_FALSE(fault) << text;
    EXPECT_EQ(fault.error().code, Errc::malformed);
    EXPECT_THAT(fault.error().what, HasSubstr(why)) << text;
  }
}

TEST(PlannedFaults, of_one_seed_are_the_same_and_of_another_are_not) {
  EXPECT_EQ(texts(draw_faults(names(50), 5, 7, 60s)), texts(draw_faults(names(50), 5, 7, 60s)));
  EXPECT_NE(texts(draw_faults(names(50), 5, 7, 60s)), texts(draw_faults(names(50), 5, 8, 60s)));
}

TEST(PlannedFaults, that_are_drawn_befall_each_node_once_and_in_time) {
  std::set<std::string> struck;
  for (const PlannedFault& fault : draw_faults(names(20), 100, 1, 10s)) {
    EXPECT_TRUE(struck.insert(fault.node).second) << fault.node;
    EXPECT_GE(fault.at, 0s);
    EXPECT_LT(fault.at, 10s);
  }
  EXPECT_EQ(struck.size(), 20U);
  EXPECT_TRUE(draw_faults({}, 3, 1, 10s).empty());
}

}  // namespace
}  // namespace autopilot::fleet
