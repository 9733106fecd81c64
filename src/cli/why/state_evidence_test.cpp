// SPDX-License-Identifier: Apache-2.0
#include "cli/why/state_evidence.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "catalog/catalog.hpp"
#include "cli/why/log_evidence.hpp"
#include "host/files/files.hpp"
#include "tests/support/host/test_folder.hpp"
#include "why/explanation.hpp"

namespace autopilot::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr WallTime kReadAt{std::chrono::hours{24 * 365}};

Incident incident_of(Finding finding, IncidentState state = IncidentState::open) {
  Incident incident;
  incident.state = state;
  incident.opened = incident.updated = finding.since;
  if (state == IncidentState::closed) incident.closed = finding.since + std::chrono::hours{1};
  incident.members.push_back(
      {.check = "gpu.xid", .finding = std::move(finding), .sympathetic = false, .cleared = {}});
  return incident;
}

Finding finding_at(WallTime since, std::string reason) {
  Finding finding;
  finding.reason = std::move(reason);
  finding.health = Health::failed;
  finding.since = finding.last_seen = since;
  return finding;
}

TEST(WhyStateEvidence, AFindingOfThisRunHoldsNowAndHasNoTime) {
  const auto all =
      evidence_in(std::vector{incident_of(finding_at(kReadAt, "filesystem_full"))}, "check", kReadAt, {});
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_TRUE(all[0].holds_now);
  EXPECT_EQ(all[0].finding.since, WallTime{});
  EXPECT_EQ(all[0].kind, why::Kind::shortage);
}

TEST(WhyStateEvidence, AFindingOfALineIsAsOldAsTheLine) {
  Finding finding = finding_at(kReadAt - std::chrono::hours{3}, "gpu_fallen_off_bus");
  finding.last_seen = kReadAt;
  finding.evidence.emplace_back("line", "NVRM: Xid");
  const auto all = evidence_in(std::vector{incident_of(finding)}, "check", kReadAt, {});
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_FALSE(all[0].holds_now);
  EXPECT_EQ(all[0].finding.last_seen, finding.since);
}

TEST(WhyStateEvidence, AnOldFindingOfThisRunIsAnEventOfItsTime) {
  Finding finding = finding_at(kReadAt - std::chrono::hours{22}, "filesystem_error");
  finding.last_seen = kReadAt;
  const auto all = evidence_in(std::vector{incident_of(finding)}, std::string(kOfThisRun), kReadAt, {});
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(why::last_of(all[0]), finding.since);
  EXPECT_FALSE(all[0].holds_now);
  EXPECT_TRUE(evidence_in(std::vector{incident_of(finding)}, "agent", kReadAt, {}).at(0).holds_now);
}

TEST(WhyStateEvidence, AKillIsAsOldAsItsTime) {
  Finding finding = finding_at(kReadAt - std::chrono::seconds{500}, std::string(kMachineMemory));
  finding.last_seen = kReadAt;
  const auto all = evidence_in(std::vector{incident_of(finding)}, "agent", kReadAt, {});
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(why::last_of(all[0]), finding.since);
}

TEST(WhyStateEvidence, AClosedIncidentDoesNotHoldAndEndsWithTheWindow) {
  const std::vector closed{
      incident_of(finding_at(kReadAt - std::chrono::hours{5}, "gpu_lost"), IncidentState::closed)};
  const auto all = evidence_in(closed, "journal of the agent", kReadAt, kReadAt - std::chrono::hours{24});
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_FALSE(all[0].holds_now);
  EXPECT_THAT(evidence_in(closed, "journal of the agent", kReadAt, kReadAt - std::chrono::hours{1}),
              IsEmpty());
}

TEST(WhyStateEvidence, AnIncidentNamesItsPrograms) {
  Incident incident = incident_of(finding_at(kReadAt, "gpu_lost"));
  GpuUser user;
  user.pid = 4242;
  incident.gpu_users = {user};
  const auto all = evidence_in(std::vector{incident}, "agent", kReadAt, {});
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_THAT(all[0].users, SizeIs(1));
}

TEST(WhyStateEvidence, ACrashRecordIsAboutThePreviousBoot) {
  const auto all =
      evidence_in(std::vector{incident_of(finding_at(kReadAt, "kernel_crash_record"))}, "check", kReadAt, {});
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].kind, why::Kind::machine_ended);
  EXPECT_EQ(all[0].boots_ago, 1);
}

TEST(WhyStateEvidence, CountersOfGroupsNameTheJob) {
  host::KilledGroups groups;
  groups.groups.push_back({.path = "/slurm/job_4711", .kills = 2, .limit_bytes = 1 << 30, .owner = {}});
  groups.groups[0].owner.job = "slurm 4711";
  const auto all = evidence_in(groups);
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_THAT(all[0].finding.message, HasSubstr("killed 2 processes of slurm 4711"));
  EXPECT_THAT(all[0].finding.message, HasSubstr("1024 MiB"));
}

TEST(WhyStateEvidence, ACounterWithoutATimeIsAtMostAPossibleCause) {
  host::KilledGroups groups;
  groups.groups.push_back({.path = "/slurm/job_4711", .kills = 2, .limit_bytes = {}, .owner = {}});
  groups.groups[0].owner.job = "slurm 4711";
  const auto of_machine = why::explain(evidence_in(groups), {}, catalog::builtin());
  EXPECT_THAT(of_machine.causes, IsEmpty());
  EXPECT_THAT(of_machine.seen, SizeIs(1));
  why::Target job;
  job.text = "4711";
  job.owners = {groups.groups[0].owner};
  const auto of_job = why::explain(evidence_in(groups), job, catalog::builtin());
  ASSERT_THAT(of_job.causes, SizeIs(1));
  EXPECT_EQ(of_job.causes[0].certainty, why::Certainty::possible);
}

host::TaskState task_of(std::int64_t pid, char state) {
  host::TaskState task;
  task.pid = pid;
  task.name = "python3";
  task.state = state;
  return task;
}

why::Target target_of(std::int64_t pid) {
  why::Target target;
  target.text = std::to_string(pid);
  target.pids = {pid};
  return target;
}

TEST(WhyStateEvidence, AProcessIsBlockedIfItDidNotRunBetweenTheReadings) {
  const host::TestFolder folder;
  TaskReadings readings;
  readings.before.blocked.push_back({.task = task_of(7, 'D'), .switches = 10, .waits_in = {}});
  readings.now.blocked.push_back(
      {.task = task_of(7, 'D'), .switches = 10, .waits_in = "rpc_wait_bit_killable"});
  const auto all = evidence_in(readings, target_of(7), host::Files(folder.path()));
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_THAT(all[0].finding.message, HasSubstr("in rpc_wait_bit_killable"));
  readings.now.blocked[0].switches = 11;
  EXPECT_THAT(evidence_in(readings, target_of(7), host::Files(folder.path())), IsEmpty());
}

TEST(WhyStateEvidence, AFrozenProcessAndAParentOfVforkWaitForNoDevice) {
  const host::TestFolder folder;
  for (const auto& [place, meaning] :
       {std::pair("hrtimer_nanosleep", "frozen"), std::pair("kernel_clone", "vfork"),
        std::pair("some_function", "in some_function.")}) {
    TaskReadings readings;
    readings.before.blocked.push_back({.task = task_of(7, 'D'), .switches = 10, .waits_in = place});
    readings.now = readings.before;
    const auto all = evidence_in(readings, target_of(7), host::Files(folder.path()));
    ASSERT_THAT(all, SizeIs(1));
    EXPECT_THAT(all[0].finding.message, HasSubstr(meaning));
    EXPECT_THAT(all[0].finding.message, ::testing::Not(HasSubstr("disk")));
  }
}

TEST(WhyStateEvidence, OfTheMachineOnlyStoppedProcessesOfJobsCount) {
  const host::TestFolder folder;
  const std::string row = " (python3) T 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0" + std::string(60, ' ');
  folder.write("/proc/7/stat", "7" + row);
  folder.write("/proc/7/cgroup", "0::/system.slice/slurmstepd.scope/job_4711/step_0\n");
  folder.write("/proc/8/stat", "8" + row);
  folder.write("/proc/8/cgroup", "0::/user.slice\n");
  TaskReadings readings;
  readings.now.stopped = {task_of(7, 'T'), task_of(8, 'T')};
  const auto all = evidence_in(readings, {}, host::Files(folder.path()));
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(why::pid_of(all[0]), 7);
  EXPECT_THAT(evidence_in(readings, target_of(8), host::Files(folder.path())), SizeIs(1));
}

}  // namespace
}  // namespace autopilot::cli
