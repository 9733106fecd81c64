// SPDX-License-Identifier: Apache-2.0
#include "cli/why/log_evidence.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "catalog/catalog.hpp"
#include "why/explanation.hpp"

namespace autopilot::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr WallTime kLoggedAt{std::chrono::hours{24 * 365}};

host::KernelRecord record_of(std::string text, std::uint64_t sequence = 1) {
  host::KernelRecord record;
  record.sequence = sequence;
  record.time.wall = kLoggedAt + std::chrono::seconds{sequence};
  record.priority = 3;
  record.text = std::move(text);
  return record;
}

std::vector<why::Evidence> evidence_of_lines(const std::vector<std::string>& lines,
                                             const LogContext& context = {.source = "kernel log"}) {
  std::vector<host::KernelRecord> records;
  for (const std::string& line : lines)
    records.push_back(record_of(line, records.size() + 1));
  return evidence_in(std::move(records), context, catalog::builtin());
}

constexpr std::string_view kKilled =
    "Memory cgroup out of memory: Killed process 4242 (python3) total-vm:105624kB, anon-rss:102400kB, "
    "file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:256kB oom_score_adj:0";

std::string limit_line(const std::string& group, int pid = 4242) {
  return "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=" + group +
         ",task_memcg=" + group + ",task=python3,pid=" + std::to_string(pid) + ",uid=0";
}

TEST(WhyLogEvidence, AKillNamesTheJobWhoseLimitWasReached) {
  const auto all =
      evidence_of_lines({limit_line("/system.slice/slurmstepd.scope/job_4711"), std::string(kKilled)});
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].kind, why::Kind::killed_for_memory);
  EXPECT_EQ(all[0].finding.reason, kMemoryLimit);
  EXPECT_EQ(why::pid_of(all[0]), 4242);
  EXPECT_THAT(all[0].finding.message, HasSubstr("the memory limit of slurm 4711 was reached"));
  ASSERT_THAT(all[0].users, SizeIs(1));
  EXPECT_EQ(all[0].users[0].owner.job, "slurm 4711");
}

TEST(WhyLogEvidence, AKillOfAnOlderKernelNamesTheJob) {
  const auto all = evidence_of_lines(
      {"Task in /slurm/uid_1000/job_4711/step_0 killed as a result of limit of /slurm/uid_1000/job_4711",
       "Memory cgroup out of memory: Kill process 4242 (python3) score 912 or sacrifice child"});
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].users.at(0).owner.job, "slurm 4711");
}

TEST(WhyLogEvidence, AGroupOfAnotherKillIsNotUsed) {
  const auto all =
      evidence_of_lines({limit_line("/system.slice/slurmstepd.scope/job_4711", 17), std::string(kKilled)});
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_TRUE(all[0].users.at(0).owner.job.empty());
  EXPECT_THAT(all[0].finding.message, HasSubstr("its control group"));
}

TEST(WhyLogEvidence, AKillForTheMachineSaysSo) {
  const auto all =
      evidence_of_lines({"Out of memory: Killed process 4242 (python3) total-vm:1kB, anon-rss:1kB"});
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].finding.reason, kMachineMemory);
}

TEST(WhyLogEvidence, APodHasItsName) {
  const std::string uid = "8b7c1f8e-0d55-4f9c-a2a3-1d2f3a4b5c6d";
  const auto all =
      evidence_of_lines({limit_line("/kubepods.slice/kubepods-pod8b7c1f8e_0d55_4f9c_a2a3_1d2f3a4b5c6d.slice"),
                         std::string(kKilled)},
                        {.source = "kernel log", .pods = {{uid, {"ml", "train-0"}}}});
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].users.at(0).owner.pod, "train-0");
  EXPECT_THAT(all[0].finding.message, HasSubstr("pod ml/train-0"));
}

TEST(WhyLogEvidence, ReadsCrashes) {
  const auto all = evidence_of_lines(
      {"python3[4242]: segfault at 10 ip 00007f1c2a0b3c41 sp 00007ffd1c9a2b10 error 4 in libfoo.so[7f+8]",
       "traps: python3[4243] general protection fault ip:55d1a5a3c1f2 sp:7ffc8a1b2c30 error:0 in a[1+2]"});
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].kind, why::Kind::crashed);
  EXPECT_EQ(why::pid_of(all[0]), 4242);
  EXPECT_THAT(all[1].finding.message, HasSubstr("general protection fault"));
}

TEST(WhyLogEvidence, AProcessThatBadMemoryEndedIsNamed) {
  for (const std::string text : {"Sending SIGBUS to a: b:4242 due to hardware memory corruption",
                                 "Killing a: b:4242 due to hardware memory corruption"}) {
    const auto all = evidence_of_lines({"Memory failure: 0xb757589: " + text});
    ASSERT_THAT(all, SizeIs(1)) << text;
    EXPECT_EQ(why::pid_of(all[0]), 4242);
    EXPECT_EQ(why::process_of(all[0]), "a: b");
    why::Target target;
    target.text = "4242";
    target.pids = {4242};
    const auto explanation = why::explain(all, target, catalog::builtin());
    ASSERT_THAT(explanation.causes, SizeIs(1));
    EXPECT_EQ(explanation.causes[0].certainty, why::Certainty::certain);
    EXPECT_EQ(explanation.causes[0].end, FaultEnd::hardware);
  }
}

TEST(WhyLogEvidence, ABadPageWithoutAProcessNamesNone) {
  for (const std::string text : {"Sending SIGBUS to  due to ", "Killing python3:x due to hardware", "due to ",
                                 "recovery action for dirty LRU page: Recovered"})
    for (const auto& one : evidence_of_lines({"Memory failure: 0x1: " + text}))
      EXPECT_EQ(why::pid_of(one), 0);
}

TEST(WhyLogEvidence, UncorrectedErrorsOfAModuleAreErrors) {
  const auto all = evidence_of_lines(
      {"EDAC MC3: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0 page:0x1)"});
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].finding.health, Health::failed);
  EXPECT_EQ(all[0].finding.reason, "memory_uncorrected");
}

TEST(WhyLogEvidence, ALineThatNoCheckJudgesIsOnlySeen) {
  const auto all =
      evidence_of_lines({"EDAC MC0: 1 CE on mc#0csrow#3channel#1 (csrow:3 channel:1 page:0x12345)"});
  ASSERT_THAT(all, SizeIs(1));
  const auto explanation = why::explain(all, {}, catalog::builtin());
  EXPECT_THAT(explanation.causes, IsEmpty());
  EXPECT_THAT(explanation.seen, SizeIs(1));
}

TEST(WhyLogEvidence, AnXidOfAProgramIsNoDeviceError) {
  const auto all = evidence_of_lines(
      {"NVRM: Xid (PCI:0000:61:00): 31, pid=4242, name=python3, Ch 00000008, intr 00000000. MMU Fault"});
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].kind, why::Kind::program_error);
  EXPECT_EQ(why::code_of(all[0]), 31);
}

TEST(WhyLogEvidence, ABlockedProcessIsNamed) {
  const auto all = evidence_of_lines({"INFO: task python3:4242 blocked for more than 120 seconds."});
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].kind, why::Kind::blocked);
  EXPECT_EQ(why::pid_of(all[0]), 4242);
}

TEST(WhyLogEvidence, UserSpaceWritesNoEvidence) {
  host::KernelRecord record = record_of(std::string(kKilled));
  record.facility = 1;
  EXPECT_THAT(evidence_in({record}, {}, catalog::builtin()), IsEmpty());
  record.facility = 0;
  record.verified = false;
  EXPECT_THAT(evidence_in({record}, {}, catalog::builtin()), IsEmpty());
}

TEST(WhyLogEvidence, OlderRecordsAreLeftOut) {
  const LogContext late{.source = "kernel log", .since = kLoggedAt + std::chrono::hours{1}};
  EXPECT_THAT(evidence_of_lines({std::string(kKilled)}, late), IsEmpty());
}

TEST(WhyLogEvidence, ChangesOfStateAreNoEvidence) {
  EXPECT_THAT(evidence_of_lines({"NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.161.08",
                                 "Linux version 5.15.0", "EXT4-fs (sda1): mounted filesystem"}),
              IsEmpty());
}

TEST(WhyLogEvidence, DifferentRecordsAreLimited) {
  std::vector<std::string> lines;
  for (int i = 0; i < 2000; ++i)
    lines.push_back("blk_update_request: I/O error, dev sd" + std::to_string(i) +
                    ", sector 5 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0");
  EXPECT_LE(evidence_of_lines(lines).size(), kMaxJudgedRecords);
}

host::JournaledBoot ended_boot() {
  host::JournaledBoot boot;
  boot.has_system_entries = true;
  boot.last = kLoggedAt;
  return boot;
}

TEST(WhyLogEvidence, ABootWithoutAShutdownEndedItself) {
  const auto all = evidence_in(ended_boot(), {.source = "journal", .boots_ago = 1});
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].kind, why::Kind::machine_ended);
}

TEST(WhyLogEvidence, ABootThatWasStoppedOrStillRunsIsNoEvidence) {
  auto stopped = ended_boot();
  stopped.was_stopped = true;
  EXPECT_THAT(evidence_in(stopped, {.source = "journal", .boots_ago = 1}), IsEmpty());
  EXPECT_THAT(evidence_in(ended_boot(), {.source = "journal", .boots_ago = 0}), IsEmpty());
  auto of_user = ended_boot();
  of_user.has_system_entries = false;
  EXPECT_THAT(evidence_in(of_user, {.source = "journal", .boots_ago = 1}), IsEmpty());
}

}  // namespace
}  // namespace autopilot::cli
