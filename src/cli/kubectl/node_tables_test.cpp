// SPDX-License-Identifier: Apache-2.0
#include "cli/kubectl/node_tables.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/parse.hpp"

namespace autopilot::cli {

namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

const WallTime kTableNow{1'800'000'000s};

std::vector<NodeView> fleet() {
  return {{.node = "gpu-1", .verdict = Verdict::pass, .health = Health::healthy, .checked = kTableNow - 20s},
          {.node = "gpu-2",
           .verdict = Verdict::evict,
           .health = Health::failed,
           .checked = kTableNow - 3min,
           .worst = "the GPU is lost",
           .is_simulated = true},
          {.node = "gpu-3", .last_verdict = "PASS", .worst = "not checked for 1h"},
          {.node = "cpu-1", .verdict = Verdict::none, .health = Health::healthy, .checked = kTableNow}};
}

TEST(NodesTable, has_a_line_for_each) {
  EXPECT_EQ(render_nodes(fleet(), kTableNow, {}),
            "NODE   VERDICT  HEALTH   CHECKED  WORST\n"
            "gpu-1  PASS     healthy  20s\n"
            "gpu-2  EVICT    failed   3m       the GPU is lost [SIMULATED]\n"
            "gpu-3  UNKNOWN  unknown  never    not checked for 1h\n"
            "cpu-1  -        healthy  0s\n");
}

TEST(NodesTable, of_the_cluster_counts_and_shows_what_needs_a_look) {
  const auto text = render_cluster(fleet(), kTableNow, {});
  EXPECT_THAT(text, HasSubstr("4 nodes  failed\n1 PASS, 1 EVICT, 1 UNKNOWN, 1 without accelerator\n\nNODE"));
  EXPECT_THAT(text, Not(HasSubstr("gpu-1")));
  EXPECT_EQ(render_cluster({}, kTableNow, {}), "0 nodes  unknown\n");
}

TEST(NodesTable, is_coloured_only_where_asked) {
  EXPECT_THAT(render_cluster(fleet(), kTableNow, {}), Not(HasSubstr("\033")));
  EXPECT_THAT(render_cluster(fleet(), kTableNow, {.color = true, .width = 80}), HasSubstr("\033[1;31mEVICT"));
}

TEST(NodesJson, says_unknown_where_nobody_knows_and_nothing_where_nothing_is) {
  const auto json = nodes_json(fleet(), kTableNow);
  EXPECT_THAT(json,
              HasSubstr(R"({"node":"gpu-3","verdict":"UNKNOWN","health":"unknown","lastVerdict":"PASS")"));
  EXPECT_THAT(json, HasSubstr(R"({"node":"cpu-1","health":"healthy")"));
  EXPECT_THAT(json, HasSubstr(R"("worst":"the GPU is lost","simulated":true)"));
  EXPECT_THAT(json, Not(HasSubstr(R"("simulated":false)"))) << "of nodes without a report";
  EXPECT_THAT(cluster_json(fleet(), kTableNow),
              HasSubstr(R"("counts":{"PASS":1,"WARN":0,"EVICT":1,"TESTING":0,"UNKNOWN":1,"none":1})"));
}

TEST(ClusterHealth, is_that_of_the_worst_and_unknown_without_any) {
  EXPECT_EQ(health_of({}), Health::unknown);
  EXPECT_EQ(health_of(std::vector{fleet()[0]}), Health::healthy);
  EXPECT_EQ(health_of(fleet()), Health::failed);
}

NodeDetails sick_node() {
  NodeDetails details;
  details.view = fleet()[1];
  details.view.looked = "30 of 31";
  details.report.missing_rights = {"CAP_SYSLOG"};
  details.report.incidents = {{.id = "0a-1",
                               .state = "open",
                               .blamed = "gpu/0000:3b:00.0",
                               .health = Health::failed,
                               .action = "power_cycle",
                               .summary = "the GPU is lost",
                               .opened = kTableNow - 2h,
                               .is_acknowledged = true}};
  details.report.incidents_left_out = 4;
  details.report.checks = {{.id = "gpu.xid", .health = Health::failed, .message = "Xid 79"},
                           {.id = "host.clock", .health = Health::healthy, .message = ""}};
  details.conditions = {{.type = "GpuHealthy",
                         .status = "False",
                         .reason = "Failed",
                         .message = "Xid 79",
                         .heartbeat = {},
                         .transition = kTableNow - 2h}};
  return details;
}

TEST(NodeDetails, say_what_is_wrong_and_what_to_do) {
  const auto text = render_details(sick_node(), kTableNow, {.color = false, .width = 120});
  EXPECT_THAT(text, HasSubstr("gpu-2  failed  verdict EVICT  SIMULATED  checked 3m ago\n"
                              "30 of 31 checks ran; missing permissions: CAP_SYSLOG\n"));
  EXPECT_THAT(text, HasSubstr("GPU 0000:3b:00.0: the GPU is lost [open, acknowledged] (for 2h). Action: "
                              "power-cycle the node\n"));
  EXPECT_THAT(text, HasSubstr("4 more are in the agent's journal.\n"));
  EXPECT_THAT(text, HasSubstr("GpuHealthy  False   Failed: Xid 79 (for 2h)\n"));
  EXPECT_THAT(text, HasSubstr("gpu.xid  failed  Xid 79\n"));
  EXPECT_THAT(text, Not(HasSubstr("host.clock")));
}

TEST(NodeDetails, say_why_evict_stays) {
  NodeDetails details = sick_node();
  details.report.why_evicted = "EVICT stood here before";
  EXPECT_THAT(render_details(details, kTableNow, {.color = false, .width = 120}),
              HasSubstr("missing permissions: CAP_SYSLOG\nEVICT stood here before\n"));
  EXPECT_THAT(details_json(details, kTableNow), HasSubstr(R"("whyEvicted":"EVICT stood here before")"));
}

TEST(NodeDetails, of_a_node_that_nobody_watches_say_so_first) {
  NodeDetails details = sick_node();
  details.view = fleet()[2];
  EXPECT_THAT(render_details(details, kTableNow, {}),
              HasSubstr("gpu-3  unknown  verdict UNKNOWN  checked never\nmissing permissions: "
                        "CAP_SYSLOG\nnot checked for 1h\n"));
}

TEST(NodeDetails, json_has_all_of_it) {
  const auto json = details_json(sick_node(), kTableNow);
  EXPECT_THAT(json, HasSubstr(R"("missingRights":["CAP_SYSLOG"])"));
  EXPECT_THAT(json, HasSubstr(R"("incidents":[{"id":"0a-1","state":"open","blamed":"gpu/0000:3b:00.0")"));
  EXPECT_THAT(json, HasSubstr(R"("incidentsLeftOut":4)"));
  EXPECT_THAT(json, HasSubstr(R"({"check":"host.clock","health":"healthy"})"));
  EXPECT_THAT(json, HasSubstr(R"("conditions":[{"type":"GpuHealthy","status":"False","reason":"Failed")"));
}

TEST(NodeDetails, have_conditions_of_autopilot_alone) {
  kube::Node node;
  for (const char* type : {"Ready", "GpuHealthy", "HostHealthy", "MemoryPressure"})
    node.conditions.push_back(
        {.type = type, .status = "True", .reason = "", .message = "", .heartbeat = {}, .transition = {}});
  const auto own = own_conditions(node);
  ASSERT_EQ(own.size(), 2U);
  EXPECT_EQ(own[1].type, "HostHealthy");
}

}  // namespace

}  // namespace autopilot::cli
