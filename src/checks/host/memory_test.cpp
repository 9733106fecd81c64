// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/builtin.hpp"
#include "tests/fakes/fake_host.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::checks {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

struct FewLinesLog : host::KernelLog {
  std::vector<std::string> lines;
  Instant time;
  int facility = 0;
  [[nodiscard]] Result<host::KernelRecords> read(std::uint64_t from, MonoTime) const override {
    host::KernelRecords records;
    records.witness = "/dev/kmsg";
    records.next = lines.size();
    if (from > 0) return records;
    for (const std::string& line : lines) {
      host::KernelRecord record;
      record.sequence = records.records.size();
      record.time = time;
      record.text = line;
      record.facility = facility;
      records.records.push_back(record);
    }
    return records;
  }
};

const std::string kUid = "8b7c1f8e-0d55-4f9c-a2a3-1d2f3a4b5c6d";
const std::string kContainer(64, 'a');

std::string limit_row(const std::string& limit, const std::string& group) {
  return "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=" + limit +
         ",task_memcg=" + group + ",task=python3,pid=4242,uid=0";
}
const std::string kKillRow =
    "Memory cgroup out of memory: Killed process 4242 (python3) total-vm:105624kB, anon-rss:1kB";

class HostMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    set_meminfo(0);
    set_pressure("0.00");
    folder_.write("/proc/vmstat", "oom_kill 0\n");
    set_errors(0, 0);
  }
  void set_meminfo(int corrupted) {
    folder_.write("/proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 500 kB\nHardwareCorrupted: " +
                                       std::to_string(corrupted) + " kB\n");
  }
  void set_pressure(const std::string& full) {
    folder_.write("/proc/pressure/memory",
                  "some avg10=0.00 avg60=50.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=" + full +
                      " avg300=0.00 total=0\n");
  }
  void set_errors(int corrected, int uncorrected) {
    const std::string mc = "/sys/devices/system/edac/mc/mc0/";
    folder_.write(mc + "ce_count", std::to_string(corrected));
    folder_.write(mc + "ue_count", std::to_string(uncorrected));
    folder_.write(mc + "dimm2/dimm_ce_count", std::to_string(corrected));
    folder_.write(mc + "dimm2/dimm_ue_count", std::to_string(uncorrected));
    folder_.write(mc + "dimm2/dimm_label", "CPU0_DIMM_A3\n");
  }
  Findings look(Duration later = 60s) {
    empty_.clock.advance(later);
    const Instant now = empty_.clock.now();
    auto observed = kHostMemory.observe(
        host_, {.now = now, .deadline = now.mono + 10s, .kernel_log_from = history_.rounds() == 0 ? 0U : 1U});
    if (!observed) {
      ADD_FAILURE() << observed.error().what;
      return {};
    }
    witnesses_ = observed->witnesses;
    history_.add(std::move(observed->observations), kHostMemory.info.window);
    return kHostMemory.judge(
        {.now = now, .history = history_, .facts = catalog::builtin(), .expectation = {}});
  }
  std::vector<std::string> words(Duration later = 60s) {
    std::vector<std::string> list;
    for (const Finding& finding : look(later))
      list.push_back(std::string(to_string(finding.health)) + " " + finding.reason);
    return list;
  }

  host::TestFolder folder_;
  fakes::EmptyHost empty_;
  host::Files files_{folder_.path()};
  FewLinesLog log_;
  host::Host host_{empty_.clock,    files_,           log_,       empty_.gpus, empty_.filesystems,
                   empty_.ethernet, empty_.time_sync, empty_.nvme};
  History history_;
  std::vector<std::string> witnesses_;
};

TEST_F(HostMemory, says_nothing_about_a_sound_machine) {
  EXPECT_THAT(words(), IsEmpty());
  EXPECT_THAT(witnesses_,
              ElementsAre("edac", "/proc/meminfo", "/proc/vmstat", "/proc/pressure/memory", "/dev/kmsg"));
}

TEST_F(HostMemory, uncorrected_errors_name_the_module) {
  set_errors(0, 2);
  const Findings findings = look();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].health, Health::failed);
  EXPECT_EQ(findings[0].reason, "memory_uncorrected");
  EXPECT_EQ(findings[0].action, Action::replace);
  EXPECT_THAT(findings[0].message, HasSubstr("mc0: 2 on CPU0_DIMM_A3"));
}

TEST_F(HostMemory, a_counter_that_makes_no_sense_hides_no_other) {
  folder_.write("/sys/devices/system/edac/mc/mc0/ce_count", "N/A\n");
  folder_.write("/sys/devices/system/edac/mc/mc0/dimm2/dimm_ce_count", "");
  folder_.write("/sys/devices/system/edac/mc/mc1/ce_count", "0\n");
  folder_.write("/sys/devices/system/edac/mc/mc1/ue_count", "5\n");
  EXPECT_THAT(words(), ElementsAre("failed memory_uncorrected", "unknown malformed_answer"));
  EXPECT_THAT(witnesses_, Contains("edac"));
  std::filesystem::remove(folder_.path() + "/sys/devices/system/edac/mc/mc0/ce_count");
  EXPECT_THAT(words(), Contains("unknown could_not_look"));
}

TEST_F(HostMemory, corrected_errors_count_when_they_are_many_within_an_hour) {
  set_errors(5000, 0);
  EXPECT_THAT(words(), IsEmpty());  // before we looked
  set_errors(5100, 0);
  EXPECT_THAT(words(), IsEmpty());
  set_errors(5101, 0);
  EXPECT_THAT(words(), ElementsAre("degraded memory_corrected_rate"));
  EXPECT_THAT(words(2h), IsEmpty());
}

TEST_F(HostMemory, memory_that_the_kernel_took_away) {
  set_meminfo(4);
  EXPECT_THAT(words(), ElementsAre("degraded memory_corrupted"));
}

TEST_F(HostMemory, pressure) {
  set_pressure("10.00");
  EXPECT_THAT(words(), IsEmpty());
  set_pressure("10.01");
  EXPECT_THAT(words(), ElementsAre("degraded memory_pressure"));
}

TEST_F(HostMemory, a_kill_of_the_whole_machine) {
  log_.lines = {
      "Out of memory: Killed process 4242 (python3) total-vm:105624kB, anon-rss:102400kB, file-rss:0kB"};
  log_.time = empty_.clock.now();
  const Findings findings = look();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].reason, "oom_kills");
  EXPECT_THAT(findings[0].message, HasSubstr("last python3 (4242)"));
  EXPECT_THAT(words(2h), IsEmpty());
}

TEST_F(HostMemory, a_kill_inside_one_containers_limit_is_its_own_affair) {
  folder_.write("/proc/vmstat", "oom_kill 3\n");
  log_.lines = {kKillRow};
  log_.time = empty_.clock.now();
  EXPECT_THAT(words(), IsEmpty());
}

TEST_F(HostMemory, a_kill_inside_the_limit_of_a_pod_is_an_event_of_that_pod) {
  folder_.write("/var/log/pods/ml_train-0_" + kUid + "/main/0.log", "");
  const std::string pod = "/kubepods/burstable/pod" + kUid;
  log_.lines = {limit_row(pod, pod + "/" + kContainer), kKillRow};
  log_.time = empty_.clock.now();
  EXPECT_THAT(words(), IsEmpty());
  ASSERT_EQ(history_.events().size(), 2U);
  for (const Observation& event : history_.events()) {
    EXPECT_EQ(to_string(event.subject), "pod/ml/train-0");
    EXPECT_EQ(*find_attribute(event.attributes, "container"), Value{kContainer});
    EXPECT_EQ(*find_attribute(event.attributes, "pod"), Value{std::string("ml/train-0")});
  }
}

TEST_F(HostMemory, a_kill_inside_the_limit_of_a_job_is_an_event_of_that_job) {
  const std::string job = "/system.slice/slurmstepd.scope/job_4711";
  log_.lines = {limit_row(job, job + "/step_0/user/task_0"), kKillRow};
  log_.time = empty_.clock.now();
  EXPECT_THAT(words(), IsEmpty());
  for (const Observation& event : history_.events())
    EXPECT_EQ(to_string(event.subject), "job/slurm/4711");
}

TEST_F(HostMemory, a_kill_by_the_limit_of_all_pods_names_the_pod_and_is_not_its_event) {
  folder_.write("/var/log/pods/ml_train-0_" + kUid + "/main/0.log", "");
  log_.lines = {limit_row("/kubepods", "/kubepods/burstable/pod" + kUid + "/" + kContainer)};
  log_.time = empty_.clock.now();
  EXPECT_THAT(words(), IsEmpty());
  ASSERT_EQ(history_.events().size(), 1U);
  EXPECT_EQ(history_.events().front().subject, host_subject());
  EXPECT_EQ(*find_attribute(history_.events().front().attributes, "pod"), Value{std::string("ml/train-0")});
}

TEST_F(HostMemory, a_program_that_writes_such_a_row_makes_no_event_of_a_pod) {
  folder_.write("/var/log/pods/ml_train-0_" + kUid + "/main/0.log", "");
  log_.lines = {limit_row("/kubepods/pod" + kUid, "/kubepods/pod" + kUid)};
  log_.time = empty_.clock.now();
  log_.facility = 1;
  EXPECT_THAT(words(), IsEmpty());
  ASSERT_EQ(history_.events().size(), 1U);
  EXPECT_EQ(history_.events().front().subject, host_subject());
}

TEST_F(HostMemory, what_a_kernel_does_not_tell_is_missing_not_zero) {
  std::filesystem::remove_all(folder_.path() + "/sys");
  std::filesystem::remove(folder_.path() + "/proc/pressure/memory");
  folder_.write("/proc/vmstat", "garbage\n");
  folder_.write("/proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 500 kB\n");
  EXPECT_THAT(words(), IsEmpty());
  EXPECT_THAT(witnesses_, ElementsAre("/proc/meminfo", "/dev/kmsg"));
  EXPECT_EQ(history_.find(host_subject(), "memory.corrupted")->missing, "not_supported");
  EXPECT_EQ(history_.find(host_subject(), "memory.pressure_full_avg60")->missing, "not_supported");
  EXPECT_EQ(history_.number(host_subject(), "edac.controllers"), 0);
}

TEST_F(HostMemory, cannot_look_when_nothing_can_be_read) {
  folder_.write("/proc/vmstat", "");
  folder_.write("/proc/meminfo", "garbage");
  std::filesystem::remove(folder_.path() + "/proc/pressure/memory");
  for (const char* file : {"ce_count", "ue_count", "dimm2/dimm_ce_count", "dimm2/dimm_ue_count"})
    folder_.write(std::string("/sys/devices/system/edac/mc/mc0/") + file, "garbage");
  const Instant now = empty_.clock.now();
  const auto observed =
      kHostMemory.observe(host_, {.now = now, .deadline = now.mono + 10s, .kernel_log_from = 0});
  EXPECT_EQ(observed.error().code, Errc::malformed);
}

}  // namespace
}  // namespace autopilot::checks
