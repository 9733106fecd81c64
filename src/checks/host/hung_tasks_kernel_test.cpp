// SPDX-License-Identifier: Apache-2.0
// host.hung_tasks against a process that really hangs in the running kernel. Needs root, a loop device and a
// kernel with the detector of hung tasks; its settings are put back.
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

#include "checks/builtin.hpp"
#include "checks/kernel_log/rule_events.hpp"
#include "host/clock/system_clock.hpp"
#include "host/kernel_log/kernel_log_tail.hpp"
#include "host/process/run_program.hpp"
#include "host/storage/loop_filesystem.hpp"
#include "tests/fakes/fake_host.hpp"

namespace autopilot::checks {
namespace {

using ::testing::Contains;
using namespace std::chrono_literals;

constexpr auto kPatience = 60s;

// A number of the kernel, changed for the time of a test.
class Setting {
 public:
  Setting(const std::string& name, std::int64_t value) : path_("/proc/sys/kernel/" + name) {
    const auto before = host::Files().read_integer(path_);
    if (!before) return;
    before_ = *before;
    is_set_ = write(value);
  }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;
  ~Setting() {
    if (!is_set_) return;
    EXPECT_TRUE(write(before_)) << path_ << " keeps a value of the test";
  }
  [[nodiscard]] bool is_set() const { return is_set_; }

 private:
  [[nodiscard]] bool write(std::int64_t value) const {
    std::ofstream file(path_);
    file << value << std::flush;
    return file.good();
  }

  std::string path_;
  std::int64_t before_ = 0;
  bool is_set_ = false;
};

class HungTaskOfThisKernel : public ::testing::Test {
 protected:
  std::vector<std::string> look(Duration later) {
    offset_ += later;
    Instant now = clock_.now();
    now.mono += offset_;
    now.wall += offset_;
    auto observed = kHostHungTasks.observe(
        host_, {.now = now, .deadline = now.mono + 10s, .kernel_log_from = next_record_});
    if (!observed) {
      ADD_FAILURE() << observed.error().what;
      return {};
    }
    next_record_ = observed->kernel_log_next.value_or(next_record_);
    witnesses_ = observed->witnesses;
    history_.add(std::move(observed->observations), kHostHungTasks.info.window);
    std::vector<std::string> reasons;
    for (const Finding& finding : kHostHungTasks.judge(
             {.now = now, .history = history_, .facts = catalog::builtin(), .expectation = {}}))
      reasons.push_back(finding.reason);
    return reasons;
  }
  // What the call trace of the report told of `process`.
  [[nodiscard]] std::string place_of(std::string_view process) const {
    std::string place;
    for (const Observation& event : history_.events())
      if (may_act(event) && attribute_of(event, "process") == process)
        place += attribute_of(event, "waitsIn");
    return place;
  }
  // The kernel writes a report row by row; an agent is told when it pauses.
  void wait_for_report(const std::string& process) {
    const MonoTime end = clock_.now().mono + kPatience;
    for (bool is_whole = false; !is_whole && clock_.now().mono < end;) {
      const auto log = kernel_log_.read(next_record_, end);
      ASSERT_TRUE(log) << log.error().what;
      bool is_reported = false;
      for (const host::KernelRecord& record : log->records) {
        is_reported = is_reported || record.text.starts_with("INFO: task " + process + ":");
        is_whole = is_whole || (is_reported && record.text.find("</TASK>") != std::string::npos);
      }
      std::this_thread::sleep_for(1ms);
    }
  }
  // True once the kernel itself reported `process` by its line.
  [[nodiscard]] bool is_reported(std::string_view process) const {
    for (const Observation& event : history_.events())
      if (may_act(event) && attribute_of(event, "process") == process) return true;
    return false;
  }

  host::SystemClock clock_;
  host::Files files_;
  host::KernelLogTail kernel_log_{[this] { return host::open_kernel_log(clock_); }};
  fakes::EmptyHost empty_;
  host::Host host_{clock_,          files_,           kernel_log_, empty_.gpus, empty_.filesystems,
                   empty_.ethernet, empty_.time_sync, empty_.nvme};
  History history_;
  std::uint64_t next_record_ = 0;
  Duration offset_{0};
  std::vector<std::string> witnesses_;
};

TEST_F(HungTaskOfThisKernel, a_writer_on_a_frozen_filesystem_is_reported_and_seen_to_stand_still) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const host::LoopFilesystem frozen;
  if (!frozen.why_not().empty()) GTEST_SKIP() << "no loop filesystem here: " << frozen.why_not();
  const Setting timeout("hung_task_timeout_secs", 2);
  const Setting warnings("hung_task_warnings", 10);
  if (!timeout.is_set() || !warnings.is_set()) GTEST_SKIP() << "this kernel has no detector of hung tasks";
  look(0s);
  if (!::testing::Value(witnesses_, Contains("/dev/kmsg")))
    GTEST_SKIP() << "the kernel log cannot be read here";
  history_ = History();  // what others left in the log

  ASSERT_EQ(host::run_program({"fsfreeze", "--freeze", frozen.path()}), "");
  std::jthread writer([&] {
    host::run_program({"dd", "if=/dev/zero", "of=" + frozen.path() + "/file", "count=1"});
  });
  wait_for_report("dd");
  std::vector<std::string> reasons = look(1ms);
  const bool reported = is_reported("dd");
  for (int more = 0; more < 6; ++more)
    reasons = look(60s);
  ASSERT_EQ(host::run_program({"fsfreeze", "--unfreeze", frozen.path()}), "");
  writer.join();

  EXPECT_TRUE(reported);
  EXPECT_NE(place_of("dd"), "") << "the call trace of the kernel itself";
  EXPECT_THAT(reasons, Contains("task_hung"));
  EXPECT_THAT(reasons, Contains("tasks_stuck"));
}

}  // namespace
}  // namespace autopilot::checks
