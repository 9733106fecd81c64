// SPDX-License-Identifier: Apache-2.0
#include "cli/kubectl/details_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::cli {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const WallTime kDetailsNow{1'800'000'000s};

NodeDetails lost_gpu() {
  NodeDetails details;
  details.view = {.node = "gpu-3",
                  .verdict = Verdict::evict,
                  .health = Health::failed,
                  .checked = kDetailsNow - 20s,
                  .looked = "30 of 31"};
  details.report.missing_rights = {"CAP_SYSLOG"};
  details.report.incidents = {{.id = "0a-1",
                               .state = "open",
                               .check = "gpu.xid",
                               .reason = "gpu_fallen_off_bus",
                               .blamed = "gpu/0000:3b:00.0",
                               .health = Health::failed,
                               .action = "power_cycle",
                               .summary = "the GPU is lost",
                               .opened = kDetailsNow - 2h}};
  details.report.checks = {{.id = "gpu.xid", .health = Health::failed, .message = "Xid 79"},
                           {.id = "host.clock", .health = Health::healthy},
                           {.id = "storage.raid", .health = Health::unsupported},
                           {.id = "host.kernel", .health = Health::unknown, .message = "/dev/kmsg: denied"}};
  return details;
}

std::string shown(const NodeDetails& details) {
  return render_page(page_of(details), {.now = kDetailsNow});
}

TEST(DetailsPage, of_a_node_begins_with_its_worst_problem) {
  const std::string page = shown(lost_gpu());
  EXPECT_THAT(page, StartsWith("gpu-3  failed: GPU 0000:3b:00.0: A GPU fell off the bus\n"
                               "verdict EVICT  checked 20s ago\n\n"
                               "failed    GPU 0000:3b:00.0: the GPU is lost. For 2h.\n"
                               "          What to do: Drain the node and power-cycle it."));
  EXPECT_THAT(page, HasSubstr("(explain: gpu_fallen_off_bus; ack: 0a-1)\n"));
  EXPECT_THAT(page, HasSubstr("\nunknown   host.kernel: /dev/kmsg: denied\n"));
  EXPECT_THAT(page, HasSubstr("\n30 of 31 checks ran; missing permissions: CAP_SYSLOG\n"));
  EXPECT_THAT(
      page, HasSubstr("\nhost.clock ran and found nothing; 1 does not apply to this machine (see --all)\n"));
  // The incident explains its check.
  EXPECT_THAT(page, Not(HasSubstr("gpu.xid: ")));
}

TEST(DetailsPage, of_a_node_without_a_current_report_states_why) {
  NodeDetails details;
  details.view = {
      .node = "gpu-4", .checked = kDetailsNow - 16min, .worst = "no report for 16m: is its agent running?"};
  EXPECT_EQ(shown(details),
            "gpu-4  unknown: no report for 16m: is its agent running?\nverdict UNKNOWN  checked 16m ago\n");
}

TEST(DetailsPage, a_verdict_that_is_held_has_its_reason) {
  NodeDetails details = lost_gpu();
  details.report.why_evicted = "EVICT remains until a deep diagnostic passes";
  details.report.incidents_left_out = 4;
  EXPECT_THAT(
      shown(details),
      HasSubstr(
          "\nEVICT remains until a deep diagnostic passes\n4 more incidents are in the agent's journal.\n"));
}

}  // namespace
}  // namespace autopilot::cli
