// SPDX-License-Identifier: Apache-2.0
#include "agent/jobs/node_records.hpp"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <utility>

namespace autopilot::agent::node_records_test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr WallTime kTime{std::chrono::hours(500000)};
constexpr const char* kGpu = "0000:3b:00.0";

Subject subject(SubjectKind kind, std::string key, std::optional<int> index = std::nullopt) {
  Subject made;
  made.kind = kind;
  made.key = std::move(key);
  made.index = index;
  return made;
}

Finding finding(Subject about, Health health, std::string reason) {
  Finding made;
  made.subject = std::move(about);
  made.health = health;
  made.reason = std::move(reason);
  return made;
}

NodeSnapshot snapshot(Findings findings) {
  NodeSnapshot made;
  made.time = kTime;
  CheckResult result;
  result.check = "some.check";
  result.findings = std::move(findings);
  made.results = {result};
  return made;
}

jobs::NodeFindingRecord first_finding(const std::vector<jobs::Record>& records) {
  return std::get<jobs::NodeFindingRecord>(records.at(0));
}

TEST(NodeRecords, a_finding_is_stated_when_it_begins_changes_and_ends) {
  NodeRecords node("n0");
  const Subject gpu = subject(SubjectKind::gpu, kGpu, 3);
  auto records = node.take(snapshot({finding(gpu, Health::degraded, "hot")}));
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(first_finding(records).subject, "gpu/3");
  EXPECT_EQ(first_finding(records).node, "n0");
  EXPECT_EQ(first_finding(records).check, "some.check");
  EXPECT_THAT(node.take(snapshot({finding(gpu, Health::degraded, "hot")})), IsEmpty());
  records = node.take(snapshot({finding(gpu, Health::failed, "hot")}));
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(first_finding(records).health, Health::failed);
  records = node.take(snapshot({}));
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(first_finding(records).health, Health::healthy);
}

TEST(NodeRecords, unknown_and_injected_findings_and_other_nodes_are_left_out) {
  NodeRecords node("n0");
  Finding injected = finding(subject(SubjectKind::host, ""), Health::failed, "a");
  injected.injected = true;
  EXPECT_THAT(node.take(snapshot({finding(subject(SubjectKind::host, ""), Health::unknown, "a"), injected,
                                  finding(subject(SubjectKind::peer, "n9"), Health::failed, "b"),
                                  finding(port_at("n9", "mlx5_0"), Health::failed, "c")})),
              IsEmpty());
}

TEST(NodeRecords, a_port_that_is_down_is_a_change_of_its_link) {
  NodeRecords node("n0");
  auto records =
      node.take(snapshot({finding(subject(SubjectKind::nic_port, "mlx5_0/1"), Health::failed, "link_down")}));
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_EQ(first_finding(records).subject, "nic/mlx5_0");
  EXPECT_FALSE(std::get<jobs::LinkRecord>(records[1]).is_up);
  EXPECT_EQ(std::get<jobs::LinkRecord>(records[1]).nic, "mlx5_0");
  records = node.take(snapshot({}));
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_TRUE(std::get<jobs::LinkRecord>(records[1]).is_up);
}

TEST(NodeRecords, a_finding_that_the_node_had_before_has_its_own_begin_until_it_gets_worse) {
  NodeRecords node("n0");
  Finding old = finding(subject(SubjectKind::gpu, kGpu, 3), Health::degraded, "hot");
  old.since = kTime - std::chrono::hours(24);
  EXPECT_EQ(first_finding(node.take(snapshot({old}))).since, old.since);
  old.health = Health::failed;
  EXPECT_EQ(first_finding(node.take(snapshot({old}))).since, std::nullopt) << "it became worse just now";
  old.since = kTime;
  old.reason = "new";
  EXPECT_EQ(first_finding(node.take(snapshot({old}))).since, std::nullopt) << "begins with this record";
}

TEST(NodeRecords, a_port_that_was_down_before_the_agent_started_did_not_go_down_now) {
  NodeRecords node("n0");
  Finding down = finding(subject(SubjectKind::nic_port, "mlx5_0/1"), Health::failed, "link_down");
  down.since = kTime - std::chrono::hours(24);
  EXPECT_THAT(node.take(snapshot({down})), SizeIs(1));
  const auto records = node.take(snapshot({}));
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_TRUE(std::get<jobs::LinkRecord>(records[1]).is_up);
}

TEST(NodeRecords, disks_and_mounts_belong_to_the_host_and_links_to_their_gpu) {
  NodeRecords node("n0");
  const auto records = node.take(
      snapshot({finding(subject(SubjectKind::gpu, kGpu, 3), Health::failed, "a"),
                finding(subject(SubjectKind::mount, "/data"), Health::failed, "b"),
                finding(subject(SubjectKind::nvlink, std::string(kGpu) + "/7"), Health::failed, "c")}));
  std::vector<std::string> subjects;
  for (const jobs::Record& record : records)
    subjects.push_back(std::get<jobs::NodeFindingRecord>(record).subject);
  EXPECT_THAT(subjects, testing::UnorderedElementsAre("gpu/3", "host", "gpu/3"));
}

TEST(NodeRecords, an_xid_has_its_code_and_the_index_of_the_gpu) {
  NodeRecords node("n0");
  (void)node.take(snapshot({finding(subject(SubjectKind::gpu, kGpu, 3), Health::failed, "a")}));
  Event event;
  event.time = kTime;
  event.kind = EventKind::kernel_record;
  event.reason = "xid";
  event.subject = subject(SubjectKind::gpu, kGpu);
  event.message = "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus";
  event.details.emplace_back("value", std::int64_t{79});
  Event other = event;
  other.reason = "oom";
  Event injected = event;
  injected.injected = true;
  const auto records = node.take(std::vector<Event>{other, event, injected});
  ASSERT_THAT(records, SizeIs(1));
  const auto& xid = std::get<jobs::XidRecord>(records[0]);
  EXPECT_EQ(xid.xid, 79);
  EXPECT_EQ(xid.gpu, 3);
  EXPECT_EQ(xid.node, "n0");
}

TEST(NodeRecords, the_number_of_findings_is_bounded) {
  NodeRecords node("n0");
  Findings many;
  for (std::size_t at = 0; at < NodeRecords::kMostFindings + 10; ++at)
    many.push_back(finding(subject(SubjectKind::host, ""), Health::failed, "r" + std::to_string(at)));
  EXPECT_THAT(node.take(snapshot(many)), SizeIs(NodeRecords::kMostFindings));
}

}  // namespace
}  // namespace autopilot::agent::node_records_test
