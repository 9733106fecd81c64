// SPDX-License-Identifier: Apache-2.0

#include "checks/kernel_log/rule_events.hpp"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "checks/builtin.hpp"
#include "host/clock/system_clock.hpp"
#include "host/files/fd.hpp"
#include "host/kernel_log/kernel_log_tail.hpp"
#include "host/kernel_log/kmsg_source.hpp"
#include "host/process/child_runner.hpp"
#include "tests/fakes/fake_host.hpp"
#include "tests/support/checks/test_log.hpp"

namespace autopilot::checks {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

constexpr std::string_view kSoft = "watchdog: BUG: soft lockup - CPU#7 stuck for 22s! [kworker/7:1:4242]";
constexpr std::string_view kStall = "rcu: INFO: rcu_sched self-detected stall on CPU";

class RuleFindings : public ::testing::Test {
 protected:
  Observed look() {
    Observed observed;
    const Instant now = empty_.clock.now();
    const auto status = add_rule_events(
        host_,
        {.now = now, .deadline = now.mono + 5s, .kernel_log_from = from_, .kernel_log_counted = counted_},
        "host.lockups", observed);
    EXPECT_TRUE(status) << status.error().what;
    from_ = observed.kernel_log_next.value_or(from_);
    return observed;
  }
  Findings judge(Observed observed) {
    const Instant now = empty_.clock.now();
    history_.add(std::move(observed.observations), 2h);
    history_.forget_before(now.mono - 2h);
    return rule_findings({.now = now, .history = history_, .facts = facts_, .expectation = {}});
  }
  std::vector<std::string> words() {
    std::vector<std::string> list;
    for (const Finding& finding : judge(look()))
      list.push_back(to_string(finding.subject) + " " + std::string(to_string(finding.health)) + " " +
                     finding.reason + (finding.injected ? " injected" : ""));
    return list;
  }
  void write(std::string_view text) { log_.write(empty_.clock.now(), std::string(text)); }

  const catalog::Catalog& facts_ = catalog::builtin();
  fakes::EmptyHost empty_;
  TestLog log_;
  host::Host host_{empty_.clock,    empty_.files,     log_,       empty_.gpus, empty_.filesystems,
                   empty_.ethernet, empty_.time_sync, empty_.nvme};
  History history_;
  std::uint64_t from_ = 0;
  std::uint64_t counted_ = 0;
};

TEST_F(RuleFindings, nothing_of_a_log_without_such_lines) {
  write("usb 1-1: new high-speed USB device number 2 using xhci_hcd");
  write("INFO: task python3:4242 blocked for more than 120 seconds.");  // another check's
  EXPECT_THAT(words(), IsEmpty());
}

TEST_F(RuleFindings, a_line_with_the_reason_of_its_rule_and_its_facts) {
  write(kSoft);
  write(kStall);
  const Findings findings = judge(look());
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].reason, "cpu_stuck");
  EXPECT_EQ(findings[0].health, Health::degraded);
  EXPECT_EQ(findings[0].since, empty_.clock.now().wall);
  EXPECT_EQ(findings[0].message, "A processor does not schedule: " + std::string(kSoft));
  EXPECT_EQ(*find_attribute(findings[0].evidence, "cpu"), Value{std::string("7")});
  EXPECT_EQ(*find_attribute(findings[0].evidence, "line"), Value{std::string(kSoft)});
  EXPECT_EQ(findings[1].reason, "rcu_stall");
}

TEST_F(RuleFindings, are_one_for_a_thousand_lines_and_count_them) {
  write(kStall);
  for (int i = 0; i < 1000; ++i)
    write(kSoft);
  write(kStall);
  Observed observed = look();
  EXPECT_EQ(observed.observations.size(), kMaxEqualEvents + 2);
  EXPECT_EQ(observed.records_dropped, 0U);
  const Findings findings = judge(std::move(observed));
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_THAT(findings[0].message, HasSubstr("(1000 lines)"));
  EXPECT_THAT(findings[1].message, HasSubstr("(2 lines)"));
}

TEST_F(RuleFindings, of_an_earlier_run_are_never_counted_together_with_new_ones) {
  for (int i = 0; i < 100; ++i)
    write(kSoft);
  counted_ = 71;  // the test's log begins at 1
  std::int64_t before = 0;
  std::int64_t news = 0;
  for (const Observation& event : look().observations)
    (*event.sequence < counted_ ? before : news) += event_count(event);
  EXPECT_EQ(before, 70);
  EXPECT_EQ(news, 30);
}

TEST_F(RuleFindings, keep_their_evidence_until_there_is_news) {
  write(kSoft);
  const Attributes first = judge(look()).at(0).evidence;
  empty_.clock.advance(1min);
  EXPECT_EQ(judge(look()).at(0).evidence, first);
  write(kSoft);
  EXPECT_NE(judge(look()).at(0).evidence, first);
}

TEST_F(RuleFindings, end_when_the_reason_expires) {
  write(kSoft);
  EXPECT_THAT(words(), ElementsAre("host degraded cpu_stuck"));
  empty_.clock.advance(30min);
  EXPECT_THAT(words(), ElementsAre("host degraded cpu_stuck"));
  empty_.clock.advance(1s);
  EXPECT_THAT(words(), IsEmpty());
}

TEST_F(RuleFindings, never_come_of_what_user_space_wrote_or_nobody_can_verify) {
  log_.write(empty_.clock.now(), std::string(kSoft), [](auto& record) { record.facility = 1; });
  log_.write(empty_.clock.now(), std::string(kSoft), [](auto& record) { record.verified = false; });
  Observed observed = look();
  EXPECT_EQ(observed.observations.size(), 2U);  // shown
  EXPECT_THAT(judge(std::move(observed)), IsEmpty());
}

TEST_F(RuleFindings, of_injected_lines_stand_beside_the_real_ones) {
  write(kSoft);
  log_.write(empty_.clock.now(), std::string(kSoft), [](auto& record) {
    record.facility = 1;
    record.injected = true;
  });
  EXPECT_THAT(words(), ElementsAre("host degraded cpu_stuck", "host degraded cpu_stuck injected"));
}

TEST_F(RuleFindings, the_log_that_may_not_be_read_is_an_error) {
  log_.refuse();
  Observed observed;
  const Instant now = empty_.clock.now();
  const auto status =
      add_rule_events(host_, {.now = now, .deadline = now.mono + 5s}, "host.lockups", observed);
  EXPECT_EQ(status.error().code, Errc::denied);
  EXPECT_THAT(observed.witnesses, IsEmpty());
}

TEST_F(RuleFindings, have_the_action_of_their_rule_where_it_gives_one_and_never_more_health_than_is_proven) {
  catalog::Facts facts;
  catalog::Reason reason;
  reason.id = "own_failed";
  reason.max_health = Health::failed;
  facts.reasons.push_back(reason);
  catalog::LogRule rule;
  rule.id = "own.dead";
  rule.reason = "own_failed";
  rule.health = Health::failed;
  rule.action = Action::replace;
  facts.log_rules = {rule};
  const catalog::Catalog own(facts);
  facts.log_rules[0].unproven = true;
  const catalog::Catalog unproven(facts);

  Observation event;
  event.name = "own.dead";
  event.time = empty_.clock.now();
  event.sequence = 1;
  event.attributes = {{"fromKernel", true}};
  history_.add({event}, 1h);
  const auto input = [&](const catalog::Catalog& catalog) {
    return JudgeInput{.now = event.time, .history = history_, .facts = catalog, .expectation = {}};
  };
  const Findings findings = rule_findings(input(own));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].action, Action::replace);
  EXPECT_EQ(allowed_health(input(own), event, Health::failed), Health::failed);
  EXPECT_EQ(allowed_health(input(unproven), event, Health::failed), Health::degraded);
}

// Rules of an operator's catalog: one about disks, whose second line takes the first back.
TEST_F(RuleFindings, end_when_a_later_line_about_the_same_subject_takes_them_back) {
  catalog::Facts facts;
  catalog::Reason reason;
  reason.id = "disk_away";
  reason.clear = catalog::ClearRule::healthy_rounds;
  reason.max_health = Health::failed;
  facts.reasons.push_back(reason);
  catalog::LogRule away;
  away.id = "own.away";
  away.title = "A disk is away";
  away.reason = "disk_away";
  away.health = Health::failed;
  catalog::LogRule back;
  back.id = "own.back";
  back.takes_back = {"own.away"};
  facts.log_rules = {away, back};
  const catalog::Catalog own(std::move(facts));

  const Instant now = empty_.clock.now();
  std::uint64_t sequence = 1;
  const auto look_at = [&](std::string_view rule, std::string_view disk) {
    Observation event;
    event.name = rule;
    event.subject = {
        .kind = SubjectKind::disk, .key = std::string(disk), .index = {}, .uuid = {}, .serial = {}};
    event.value = std::string(rule);
    event.time = now;
    event.sequence = sequence++;
    event.attributes = {{"fromKernel", true}};
    history_.add({event}, 1h);
    return rule_findings({.now = now, .history = history_, .facts = own, .expectation = {}});
  };
  EXPECT_EQ(look_at("own.away", "sda").at(0).health, Health::failed);
  EXPECT_EQ(look_at("own.away", "sdb").size(), 2U);
  const Findings left = look_at("own.back", "sda");
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].subject.key, "sdb");
  EXPECT_EQ(look_at("own.away", "sda").size(), 2U);
}

}  // namespace

// Checks against the log of the running kernel: what it wrote itself acts, what a program wrote never does.
// Needs root; each test says what else.

namespace {

// A container of version 1 or 2, that may use 16 MB.
class SmallCgroup {
 public:
  SmallCgroup() {
    const std::filesystem::path first = "/sys/fs/cgroup/memory";
    const bool is_first = std::filesystem::exists(first);
    path_ = (is_first ? first : first.parent_path()) / ("autopilot-test-" + std::to_string(::getpid()));
    std::error_code error;
    std::filesystem::create_directory(path_, error);
    std::ofstream limit(path_ / (is_first ? "memory.limit_in_bytes" : "memory.max"));
    limit << (16 << 20) << std::flush;
    is_made_ = !error && limit.good();
  }
  SmallCgroup(const SmallCgroup&) = delete;
  SmallCgroup& operator=(const SmallCgroup&) = delete;
  ~SmallCgroup() { ::rmdir(path_.c_str()); }
  [[nodiscard]] bool is_made() const { return is_made_; }
  [[nodiscard]] std::string processes() const { return path_ / "cgroup.procs"; }
  [[nodiscard]] std::string name() const { return path_.filename(); }

 private:
  std::filesystem::path path_;
  bool is_made_ = false;
};

class LogOfThisKernel : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    const auto log = tail_.read(0, host::mono_now() + 10s);
    if (!log) GTEST_SKIP() << "the kernel log cannot be read: " << log.error().what;
    from_ = log->next;
  }
  // Looks until an event about `text` is there.
  const Observation* wait_for(const Check& check, std::string_view text) {
    const MonoTime end = host::mono_now() + 20s;
    while (host::mono_now() < end) {
      const Instant now = clock_.now();
      auto observed = check.observe(host_, {.now = now, .deadline = now.mono + 5s, .kernel_log_from = from_});
      if (!observed) {
        ADD_FAILURE() << observed.error().what;
        return nullptr;
      }
      from_ = observed->kernel_log_next.value_or(from_);
      history_.add(std::move(observed->observations), check.info.window);
      for (const Observation& event : history_.events()) {
        const Value* line = find_attribute(event.attributes, "line");
        if (line != nullptr && to_string(*line).find(text) != std::string::npos) return &event;
      }
    }
    return nullptr;
  }
  std::vector<std::string> reasons(const Check& check) {
    std::vector<std::string> words;
    for (const Finding& finding : check.judge(
             {.now = clock_.now(), .history = history_, .facts = catalog::builtin(), .expectation = {}}))
      words.push_back(finding.reason);
    return words;
  }

  host::SystemClock clock_;
  host::Files files_;
  host::KernelLogTail tail_{[this] { return host::open_kernel_log(clock_); }, {.trusts_injected = true}};
  fakes::EmptyHost empty_;
  host::Host host_{clock_,          files_,           tail_,      empty_.gpus, empty_.filesystems,
                   empty_.ethernet, empty_.time_sync, empty_.nvme};
  History history_;
  std::uint64_t from_ = 0;
};

TEST_F(LogOfThisKernel, what_a_program_wrote_is_shown_and_never_acts) {
  const std::string line =
      "watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [autopilot-test:" + std::to_string(::getpid()) + "]";
  std::ofstream kmsg("/dev/kmsg");
  // A program may claim any facility but the kernel's. Without the end of the line nobody sees it until the
  // next record.
  kmsg << "<0>" << line << std::endl;
  if (!kmsg.good()) GTEST_SKIP() << "/dev/kmsg cannot be written here";
  const Observation* event = wait_for(kHostLockups, line);
  ASSERT_NE(event, nullptr);
  EXPECT_EQ(event->name, "host.soft_lockup");
  EXPECT_FALSE(may_act(*event));
  EXPECT_THAT(reasons(kHostLockups), ::testing::Not(::testing::Contains("cpu_stuck")));
}

TEST_F(LogOfThisKernel, what_was_injected_is_seen_at_once_and_marked) {
  const std::string line = "rcu: INFO: rcu_test" + std::to_string(::getpid()) + " self-detected stall on CPU";
  if (const auto injected = host::inject_kernel_record(line); !injected)
    GTEST_SKIP() << "/dev/kmsg cannot be written here: " << injected.error().what;
  const Observation* event = wait_for(kHostLockups, line);
  ASSERT_NE(event, nullptr);
  EXPECT_TRUE(is_injected(*event));
}

TEST_F(LogOfThisKernel, a_kill_inside_one_containers_limit_is_seen_and_is_no_fault_of_the_machine) {
  const SmallCgroup small;
  if (!small.is_made()) GTEST_SKIP() << "no memory cgroup can be made here";
  host::ChildRunner runner;
  // tail keeps what it may have to print: all of it, in one line without an end.
  const auto report = runner.run(
      {.program = "/bin/sh",
       .arguments = {"-c", "echo $$ > " + small.processes() + "; head -c 200000000 /dev/zero | tail"},
       .environment = {"PATH=/usr/bin:/bin"}},
      host::mono_now() + 60s);
  ASSERT_TRUE(report) << report.error().what;
  const Observation* event = wait_for(kHostMemory, "Memory cgroup out of memory: Killed process");
  ASSERT_NE(event, nullptr);
  EXPECT_EQ(event->name, "memory.oom_container");
  EXPECT_TRUE(may_act(*event));
  EXPECT_EQ(to_string(*find_attribute(event->attributes, "process")), "tail");
  EXPECT_THAT(reasons(kHostMemory), ::testing::Not(::testing::Contains("oom_kills")));
}

}  // namespace

}  // namespace autopilot::checks
