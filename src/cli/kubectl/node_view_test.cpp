// SPDX-License-Identifier: Apache-2.0
#include "cli/kubectl/node_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::cli {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kPrefix = "autopilot.ibm.com";
const WallTime kNow{1'800'000'000s};

kube::HealthReport report(const std::string& node, Duration age, Verdict written = Verdict::pass,
                          Health health = Health::healthy) {
  return {.node = node,
          .observed = kNow - age,
          .health = health,
          .written = written,
          .looked = "30 of 31",
          .worst_incident = "from the report"};
}

kube::Node node(const std::string& name, const std::string& label, Duration age) {
  kube::Node node;
  node.meta.name = name;
  if (!label.empty()) node.meta.labels[kPrefix + "/gpuhealth"] = label;
  node.meta.annotations[kPrefix + "/checked-at"] = format_time(kNow - age);
  node.meta.annotations[kPrefix + "/summary"] = "from the node";
  return node;
}

NodeView view_of(const std::vector<kube::HealthReport>& reports, const std::vector<kube::Node>& nodes) {
  const auto views = node_views(reports, nodes, kPrefix, kNow);
  EXPECT_EQ(views.size(), 1U);
  return views.empty() ? NodeView{} : views.front();
}

TEST(NodeView, a_fresh_report_is_the_node) {
  const auto view = view_of({report("a", 20s, Verdict::warn, Health::degraded)}, {});
  EXPECT_EQ(view.verdict, Verdict::warn);
  EXPECT_EQ(view.health, Health::degraded);
  EXPECT_EQ(view.checked, kNow - 20s);
  EXPECT_EQ(view.worst, "from the report");
  EXPECT_EQ(view.looked, "30 of 31");
}

TEST(NodeView, whether_it_is_simulated_is_known_by_its_report_alone) {
  EXPECT_EQ(view_of({}, {node("a", "PASS", 20s)}).is_simulated, std::nullopt);
  EXPECT_EQ(view_of({report("a", 20s)}, {node("a", "PASS", 20s)}).is_simulated, false);
}

TEST(NodeView, three_heartbeats_without_a_word_make_it_unknown) {
  EXPECT_EQ(view_of({report("a", 15min)}, {}).verdict, Verdict::pass);
  const auto view = view_of({report("a", 15min + 1ns)}, {});
  EXPECT_EQ(view.verdict, std::nullopt);
  EXPECT_EQ(view.health, Health::unknown);
  EXPECT_EQ(view.last_verdict, "PASS");
  EXPECT_THAT(view.worst, HasSubstr("no report for 15m"));
}

TEST(NodeView, the_future_is_as_unknown_as_the_past) {
  EXPECT_EQ(view_of({report("a", -1min)}, {}).verdict, Verdict::pass);
  const auto view = view_of({report("a", -16min)}, {});
  EXPECT_EQ(view.verdict, std::nullopt);
  EXPECT_THAT(view.worst, HasSubstr("check the clocks"));
}

TEST(NodeView, what_was_written_last_is_the_word) {
  auto view = view_of({report("a", 5min)}, {node("a", "EVICT", 10s)});
  EXPECT_EQ(view.verdict, Verdict::evict);
  EXPECT_EQ(view.health, Health::failed);
  EXPECT_EQ(view.worst, "from the report");
  view = view_of({report("a", 10s)}, {node("a", "EVICT", 5min)});
  EXPECT_EQ(view.verdict, Verdict::pass);
  EXPECT_EQ(view.health, Health::healthy);
  view = view_of({report("a", 20min, Verdict::pass, Health::failed)}, {node("a", "PASS", 10s)});
  EXPECT_EQ(view.health, Health::healthy);
  EXPECT_EQ(view.worst, "from the node");
}

TEST(NodeView, a_node_without_a_report_is_known_by_its_label) {
  const auto view = view_of({}, {node("a", "WARN", 10s)});
  EXPECT_EQ(view.verdict, Verdict::warn);
  EXPECT_EQ(view.health, Health::degraded);
  EXPECT_EQ(view.worst, "from the node");
  EXPECT_EQ(view.looked, "");
  EXPECT_EQ(view_of({}, {node("a", "PASS", 1h)}).health, Health::unknown);
}

TEST(NodeView, a_label_of_which_nobody_says_when_is_unknown) {
  auto bare = node("a", "PASS", 0s);
  bare.meta.annotations.clear();
  const auto view = view_of({}, {bare});
  EXPECT_EQ(view.verdict, std::nullopt);
  EXPECT_EQ(view.health, Health::unknown);
  EXPECT_FALSE(view.checked);
}

TEST(NodeView, a_word_that_nobody_knows_is_unknown) {
  const auto view = view_of({}, {node("a", "SPLENDID", 10s)});
  EXPECT_EQ(view.verdict, std::nullopt);
  EXPECT_THAT(view.worst, HasSubstr("this version does not know its verdict"));
}

TEST(NodeView, evict_that_stays_is_no_healthy_node) {
  EXPECT_EQ(view_of({report("a", 10s, Verdict::evict, Health::healthy)}, {}).health, Health::failed);
  EXPECT_EQ(view_of({report("a", 10s, Verdict::pass, Health::failed)}, {}).health, Health::failed);
  EXPECT_EQ(view_of({report("a", 10s, Verdict::testing, Health::healthy)}, {}).health, Health::healthy);
  EXPECT_EQ(view_of({report("a", 10s, Verdict::none, Health::degraded)}, {}).health, Health::degraded);
}

TEST(NodeView, nodes_that_nobody_watches_are_none_of_ours) {
  kube::Node other;
  other.meta.name = "other";
  EXPECT_THAT(node_views({}, std::vector{other}, kPrefix, kNow), IsEmpty());
}

TEST(NodeView, what_needs_a_look_comes_worst_first) {
  NodeView passing{.node = "a", .verdict = Verdict::pass, .health = Health::healthy};
  NodeView without{.node = "b", .verdict = Verdict::none, .health = Health::unsupported};
  NodeView testing{.node = "c", .verdict = Verdict::testing, .health = Health::healthy};
  NodeView sick{.node = "d", .verdict = Verdict::pass, .health = Health::degraded};
  NodeView lost{.node = "e", .verdict = std::nullopt, .health = Health::unknown};
  NodeView dead{.node = "f", .verdict = Verdict::evict, .health = Health::failed};
  EXPECT_FALSE(needs_attention(passing));
  EXPECT_FALSE(needs_attention(without));
  for (const NodeView& view : {testing, sick, lost, dead})
    EXPECT_TRUE(needs_attention(view)) << view.node;
  std::vector<NodeView> views{passing, testing, sick, lost, dead};
  sort_worst_first(views);
  std::vector<std::string> names;
  for (const NodeView& view : views)
    names.push_back(view.node);
  EXPECT_THAT(names, ElementsAre("f", "e", "d", "a", "c"));
}

}  // namespace
}  // namespace autopilot::cli
