// SPDX-License-Identifier: Apache-2.0
#include "why/explanation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "catalog/catalog.hpp"
#include "why/ties.hpp"
#include "why/waits.hpp"

namespace autopilot::why {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr WallTime kNoon{hours{24 * 365}};
constexpr std::string_view kGpu = "0000:61:00.0";

Evidence at(WallTime time, Kind kind, std::string reason, Health health = Health::degraded) {
  Evidence evidence;
  evidence.kind = kind;
  evidence.source = "kernel log";
  evidence.finding.reason = std::move(reason);
  evidence.finding.message = evidence.finding.reason;
  evidence.finding.health = health;
  evidence.finding.since = time;
  return evidence;
}

Evidence of_process(Evidence evidence, std::int64_t pid, const std::string& name = "python3") {
  evidence.finding.evidence.emplace_back("pid", pid);
  evidence.finding.evidence.emplace_back("process", name);
  return evidence;
}

Evidence xid(WallTime time, std::int64_t code, std::string reason, Health health, std::int64_t pid = 0) {
  Evidence evidence =
      at(time, health == Health::healthy && reason == "xid_app" ? Kind::program_error : Kind::device_error,
         std::move(reason), health);
  evidence.finding.subject.kind = SubjectKind::gpu;
  evidence.finding.subject.key = kGpu;
  evidence.finding.evidence.emplace_back("code", code);
  return pid == 0 ? evidence : of_process(std::move(evidence), pid);
}

Evidence lost_gpu(WallTime time, std::int64_t pid = 0) {
  return xid(time, 79, "gpu_fallen_off_bus", Health::failed, pid);
}

Evidence full_disk() {
  Evidence evidence = at(WallTime{}, Kind::shortage, "filesystem_full", Health::failed);
  evidence.finding.subject.kind = SubjectKind::mount;
  evidence.finding.subject.key = "/raid";
  evidence.holds_now = true;
  return evidence;
}

Target process(std::int64_t pid) {
  Target target;
  target.text = std::to_string(pid);
  target.pids = {pid};
  return target;
}

Explanation explained(std::vector<Evidence> evidence, const Target& target = {}) {
  return explain(std::move(evidence), target, catalog::builtin());
}

std::vector<std::string> reasons_of(const Explanation& explanation) {
  std::vector<std::string> reasons;
  for (const FoundCause& cause : explanation.causes)
    reasons.push_back(cause.main.finding.reason);
  return reasons;
}

TEST(WhyExplanation, NothingIsClaimedWithoutEvidence) {
  const auto explanation = explained({}, process(4242));
  EXPECT_THAT(explanation.causes, IsEmpty());
  EXPECT_THAT(explanation.seen, IsEmpty());
}

TEST(WhyExplanation, AKillOfTheProcessIsCertain) {
  const auto explanation =
      explained({of_process(at(kNoon, Kind::killed_for_memory, "memory_limit"), 4242)}, process(4242));
  ASSERT_THAT(explanation.causes, SizeIs(1));
  EXPECT_EQ(explanation.causes[0].certainty, Certainty::certain);
}

TEST(WhyExplanation, AnErrorOfAnotherProcessIsOnlySeen) {
  const auto explanation =
      explained({of_process(at(kNoon, Kind::killed_for_memory, "memory_limit"), 17)}, process(4242));
  EXPECT_THAT(explanation.causes, IsEmpty());
  EXPECT_THAT(explanation.seen, SizeIs(1));
}

Evidence hung_task(WallTime time, const std::string& waits_for) {
  Evidence evidence = of_process(at(time, Kind::blocked, "task_hung"), 4242);
  if (!waits_for.empty()) evidence.finding.evidence.emplace_back(kWaitsFor, waits_for);
  return evidence;
}

Evidence of_rule(WallTime time, const std::string& rule) {
  Evidence evidence = at(time, Kind::device_error, rule);
  evidence.finding.evidence.emplace_back("rule", rule);
  return evidence;
}

TEST(WhyExplanation, a_blocked_process_is_explained_by_what_it_waits_for) {
  const WallTime before = kNoon - minutes{5};
  for (const auto& [waits_for, rule, is_cause] :
       {std::tuple("nfs", "filesystem.nfs_not_responding", true),
        std::tuple("nfs", "storage.io_error", false), std::tuple("disk", "storage.io_error", true),
        std::tuple("disk", "filesystem.nfs_not_responding", false),
        std::tuple("gpu", "storage.io_error", false), std::tuple("lustre", "filesystem.lustre_lost", true),
        std::tuple("adapter", "network.mlx5_command", true), std::tuple("", "storage.io_error", true)}) {
    const auto explanation = explained({of_rule(before, rule), hung_task(kNoon, waits_for)}, process(4242));
    ASSERT_THAT(explanation.causes, SizeIs(1)) << waits_for << " " << rule;
    EXPECT_EQ(explanation.causes[0].main.finding.reason, is_cause ? rule : "task_hung") << waits_for;
  }
}

TEST(WhyExplanation, a_cause_of_an_earlier_boot_states_whether_it_still_holds) {
  Evidence lost = lost_gpu(kNoon);
  lost.boots_ago = 1;
  EXPECT_EQ(explained({lost}).causes.at(0).still_holds, false);
  EXPECT_EQ(explained({lost_gpu(kNoon)}).causes.at(0).still_holds, std::nullopt);
  Evidence now = at(WallTime{}, Kind::device_error, "gpu_lost", Health::failed);
  now.finding.subject = lost.finding.subject;
  now.holds_now = true;
  const auto explanation = explained({lost, now});
  for (const FoundCause& cause : explanation.causes)
    if (cause.main.boots_ago == 1) EXPECT_EQ(cause.still_holds, true);
}

TEST(WhyExplanation, full_shared_memory_explains_a_bus_error) {
  Evidence full = at(WallTime{}, Kind::shortage, std::string(kSharedMemoryFull));
  full.holds_now = true;
  Evidence crash = of_process(at(kNoon, Kind::crashed, "program_crashed"), 4242);
  crash.finding.evidence.emplace_back(kSignal, "SIGBUS");
  const auto explanation = explained({full, crash}, process(4242));
  EXPECT_THAT(reasons_of(explanation), ElementsAre(kSharedMemoryFull));
  EXPECT_EQ(explanation.causes[0].certainty, Certainty::likely);
}

TEST(WhyExplanation, AFullDiskIsNoCauseOfAProgramThatDoesNotUseIt) {
  const auto explanation = explained({full_disk()}, process(4242));
  EXPECT_THAT(explanation.causes, IsEmpty());
  EXPECT_THAT(explanation.seen, SizeIs(1));
}

TEST(WhyExplanation, AFullDiskIsALikelyCauseOfAProgramThatWritesToIt) {
  Target target = process(4242);
  target.mounts = {"/raid"};
  target.is_running = true;
  const auto explanation = explained({full_disk()}, target);
  ASSERT_THAT(explanation.causes, SizeIs(1));
  EXPECT_EQ(explanation.causes[0].certainty, Certainty::likely);
}

TEST(WhyExplanation, AnOldErrorOfItsGpuIsNoCauseOfAProgramThatStartedLater) {
  Target target = process(4242);
  target.is_running = true;
  target.started = kNoon;
  target.gpus = {lost_gpu(kNoon).finding.subject};
  EXPECT_THAT(explained({lost_gpu(kNoon - hours{1})}, target).causes, IsEmpty());
  EXPECT_THAT(explained({lost_gpu(kNoon + hours{1})}, target).causes, SizeIs(1));
}

TEST(WhyExplanation, ARunningProcessIsNotTheOneThatHadItsNumberBefore) {
  Target target = process(4242);
  target.is_running = true;
  target.started = kNoon;
  const auto kill = of_process(at(kNoon - hours{1}, Kind::killed_for_memory, "memory_limit"), 4242);
  EXPECT_THAT(explained({kill}, target).causes, IsEmpty());
}

TEST(WhyExplanation, ARunningProcessIsNotOfThePreviousBoot) {
  Target target = process(4242);
  target.is_running = true;
  Evidence kill = of_process(at(kNoon, Kind::killed_for_memory, "memory_limit"), 4242);
  kill.boots_ago = 1;
  EXPECT_THAT(explained({kill}, target).causes, IsEmpty());
}

TEST(WhyExplanation, APidOfAnEarlierBootIsOnlyPossible) {
  Evidence kill = of_process(at(kNoon, Kind::killed_for_memory, "memory_limit"), 4242);
  kill.boots_ago = 3;
  const auto explanation = explained({kill}, process(4242));
  ASSERT_THAT(explanation.causes, SizeIs(1));
  EXPECT_EQ(explanation.causes[0].certainty, Certainty::possible);
  EXPECT_EQ(explanation.causes[0].grounds,
            "Only a process id ties it to 4242; another process or a job may have that number.");
}

TEST(WhyExplanation, WhatExplainsAPidOfAnEarlierBootIsOnlyPossible) {
  Evidence crash = of_process(at(kNoon + seconds{2}, Kind::crashed, "program_crashed"), 4242);
  Evidence gpu = lost_gpu(kNoon, 4242);
  crash.boots_ago = gpu.boots_ago = 1;
  for (const FoundCause& cause : explained({crash, gpu}, process(4242)).causes)
    EXPECT_EQ(cause.certainty, Certainty::possible) << cause.main.finding.reason;
}

TEST(WhyExplanation, APidIsOnlyPossibleIfAJobHasTheNumber) {
  Target target = process(4711);
  target.owners.resize(1);
  target.owners[0].job = "slurm 4711";
  const auto of_pid = of_process(at(kNoon, Kind::crashed, "program_crashed"), 4711, "cron");
  EXPECT_EQ(explained({of_pid}, target).causes.at(0).certainty, Certainty::certain);

  Evidence of_job = of_process(at(kNoon - hours{5}, Kind::killed_for_memory, "memory_limit"), 17);
  of_job.users.resize(1);
  of_job.users[0].owner.job = "slurm 4711";
  const auto both = explained({of_pid, of_job}, target);
  EXPECT_THAT(reasons_of(both), ElementsAre("memory_limit", "program_crashed"));
  EXPECT_EQ(both.causes.at(0).certainty, Certainty::certain);
  EXPECT_EQ(both.causes.at(1).certainty, Certainty::possible);

  target.is_also_job = true;
  target.pids.push_back(17);
  target.owners.clear();
  const auto of_rank = of_process(at(kNoon, Kind::crashed, "program_crashed"), 17);
  EXPECT_EQ(explained({of_rank}, target).causes.at(0).certainty, Certainty::certain);
  EXPECT_EQ(explained({of_pid}, target).causes.at(0).certainty, Certainty::possible);
}

TEST(WhyExplanation, TheLostGpuExplainsWhatFollowsOnIt) {
  const auto explanation =
      explained({xid(kNoon + seconds{1}, 45, "xid_sympathetic", Health::healthy, 4242), lost_gpu(kNoon),
                 of_process(at(kNoon + seconds{2}, Kind::crashed, "program_crashed"), 4242)},
                process(4242));
  ASSERT_FALSE(explanation.causes.empty());
  EXPECT_EQ(explanation.causes[0].main.finding.reason, "program_crashed");
  ASSERT_THAT(explanation.causes, SizeIs(2));
  EXPECT_EQ(explanation.causes[1].main.finding.reason, "gpu_fallen_off_bus");
  EXPECT_EQ(explanation.causes[1].certainty, Certainty::likely);
  EXPECT_THAT(explanation.causes[1].consequences, SizeIs(1));
}

TEST(WhyExplanation, AnErrorThatNamesTheProcessExplainsItsCrash) {
  const auto explanation = explained(
      {of_process(at(kNoon + seconds{2}, Kind::crashed, "program_crashed"), 4242), lost_gpu(kNoon, 4242)},
      process(4242));
  EXPECT_THAT(reasons_of(explanation), ElementsAre("gpu_fallen_off_bus"));
  EXPECT_EQ(explanation.causes[0].end, FaultEnd::hardware);
  EXPECT_THAT(explanation.order, SizeIs(2));
}

TEST(WhyExplanation, AnXidOfAProgramIsTheFaultOfTheProgram) {
  const auto explanation = explained({xid(kNoon, 31, "xid_app", Health::healthy, 4242)}, process(4242));
  ASSERT_THAT(explanation.causes, SizeIs(1));
  EXPECT_EQ(explanation.causes[0].end, FaultEnd::application);
}

TEST(WhyExplanation, AProgramIsNotCertainToBeAtFaultIfItsGpuFailsSoonAfter) {
  const auto of_program = xid(kNoon, 43, "xid_app", Health::healthy, 4242);
  const auto explanation = explained({of_program, lost_gpu(kNoon + seconds{198})}, process(4242));
  ASSERT_THAT(explanation.causes, SizeIs(1));
  EXPECT_EQ(explanation.causes[0].certainty, Certainty::likely);
  EXPECT_EQ(explanation.causes[0].end, FaultEnd::unclear);
  EXPECT_THAT(explanation.causes[0].grounds, ::testing::HasSubstr("error 79"));
  const auto later = explained({of_program, lost_gpu(kNoon + hours{1})}, process(4242));
  EXPECT_EQ(later.causes.at(0).certainty, Certainty::certain);
}

TEST(WhyExplanation, AnEventOfAnotherProgramIsNotInTheOrder) {
  const auto explanation =
      explained({lost_gpu(kNoon, 4242), xid(kNoon + seconds{1}, 45, "xid_sympathetic", Health::healthy, 17)},
                process(4242));
  ASSERT_THAT(explanation.causes, SizeIs(1));
  EXPECT_THAT(explanation.order, SizeIs(1));
  EXPECT_THAT(explanation.seen, SizeIs(1));
}

TEST(WhyExplanation, RecordsOfDifferentDevicesStayApart) {
  auto one = at(kNoon, Kind::device_error, "disk_error");
  auto other = at(kNoon + seconds{1}, Kind::device_error, "disk_error");
  one.finding.evidence.emplace_back("device", std::string("sda"));
  other.finding.evidence.emplace_back("device", std::string("sdb"));
  EXPECT_THAT(explained({one, other}).causes, SizeIs(2));
  EXPECT_THAT(explained({one, one}).causes, SizeIs(1));
}

TEST(WhyExplanation, AMachineErrorJustBeforeIsOnlyPossible) {
  const auto explanation =
      explained({lost_gpu(kNoon), lost_gpu(kNoon - hours{3}),
                 of_process(at(kNoon + minutes{1}, Kind::crashed, "program_crashed"), 4242)},
                process(4242));
  ASSERT_THAT(explanation.causes, SizeIs(2));
  EXPECT_EQ(explanation.causes[0].certainty, Certainty::certain);
  EXPECT_EQ(explanation.causes[1].certainty, Certainty::possible);
}

TEST(WhyExplanation, EqualRecordsCountOnce) {
  const auto explanation = explained({lost_gpu(kNoon), lost_gpu(kNoon + minutes{1})});
  ASSERT_THAT(explanation.causes, SizeIs(1));
  EXPECT_EQ(count_of(explanation.causes[0].main), 2);
  EXPECT_EQ(explanation.causes[0].main.finding.since, kNoon);
}

TEST(WhyExplanation, AProgramThatCrashesAgainCountsOnceForTheMachine) {
  const auto one = of_process(at(kNoon, Kind::crashed, "program_crashed"), 1);
  const auto two = of_process(at(kNoon + seconds{1}, Kind::crashed, "program_crashed"), 2);
  EXPECT_THAT(explained({one, two}).causes, SizeIs(1));
}

TEST(WhyExplanation, ASettingIsNoCause) {
  Evidence clock = at(WallTime{}, Kind::state, "clock_not_synchronised");
  clock.holds_now = true;
  const auto explanation = explained({clock});
  EXPECT_THAT(explanation.causes, IsEmpty());
  EXPECT_THAT(explanation.seen, SizeIs(1));
}

TEST(WhyExplanation, ALostGpuRanksBeforeTheFaultOfAProgram) {
  const auto explanation =
      explained({of_process(xid(kNoon + hours{1}, 31, "xid_app", Health::healthy), 7), lost_gpu(kNoon)});
  EXPECT_THAT(reasons_of(explanation), ElementsAre("gpu_fallen_off_bus", "xid_app"));
}

TEST(WhyExplanation, ABrokenDeviceRanksBeforeAProgramThatCrashed) {
  const auto crash = of_process(at(kNoon + hours{1}, Kind::crashed, "program_crashed"), 7);
  EXPECT_THAT(reasons_of(explained({crash, lost_gpu(kNoon)})),
              ElementsAre("gpu_fallen_off_bus", "program_crashed"));
}

TEST(WhyExplanation, WhatHoldsNowBelongsToTheErrorThatExplainsIt) {
  auto missing = lost_gpu(WallTime{});
  missing.finding.evidence.clear();
  missing.finding.reason = "gpu_missing";
  missing.holds_now = true;
  const auto explanation = explained({missing, lost_gpu(kNoon)});
  EXPECT_THAT(reasons_of(explanation), ElementsAre("gpu_fallen_off_bus"));
  EXPECT_THAT(explanation.causes[0].consequences, SizeIs(1));
}

TEST(WhyExplanation, HeatExplainsTheEndOfTheMachine) {
  auto heat = at(kNoon, Kind::device_error, "machine_overheats", Health::failed);
  auto end = at(kNoon + seconds{20}, Kind::machine_ended, std::string(kNoShutdown), Health::failed);
  heat.boots_ago = end.boots_ago = 1;
  EXPECT_THAT(reasons_of(explained({end, heat})), ElementsAre("machine_overheats"));
}

TEST(WhyExplanation, ACrashRecordExplainsTheEndOfTheMachine) {
  auto record = at(WallTime{}, Kind::machine_ended, "kernel_crash_record");
  auto end = at(kNoon, Kind::machine_ended, std::string(kNoShutdown), Health::failed);
  record.boots_ago = end.boots_ago = 1;
  EXPECT_THAT(reasons_of(explained({end, record})), ElementsAre("kernel_crash_record"));
}

TEST(WhyExplanation, ASilentFileServerExplainsABlockedProcess) {
  auto server = at(kNoon, Kind::device_error, "filesystem.nfs_not_responding");
  server.finding.evidence.emplace_back("rule", "filesystem.nfs_not_responding");
  const auto blocked = of_process(at(kNoon + minutes{2}, Kind::blocked, "task_hung"), 4242);
  const auto explanation = explained({blocked, server}, process(4242));
  EXPECT_THAT(reasons_of(explanation), ElementsAre("filesystem.nfs_not_responding"));
  EXPECT_EQ(explanation.causes[0].certainty, Certainty::likely);
}

TEST(WhyOwner, ContainersMatchByTheBeginningOfTheirId) {
  GpuUserOwner wanted;
  wanted.container = "0123456789ab";
  GpuUserOwner other;
  other.container = "0123456789abcdef0123";
  EXPECT_TRUE(is_same_owner(wanted, other));
  wanted.container = "0123";
  EXPECT_FALSE(is_same_owner(wanted, other));
}

TEST(WhyOwner, UnknownOwnersAreNotTheSame) {
  EXPECT_FALSE(is_same_owner({}, {}));
}

}  // namespace
}  // namespace autopilot::why
