// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/builtin.hpp"
#include "checks/kernel_log/test_log.hpp"
#include "host/files/test_folder.hpp"
#include "tests/fakes/fake_host.hpp"

namespace autopilot::checks {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class HostLimits : public ::testing::Test {
 protected:
  void set_files(const std::string& used, const std::string& most) {
    folder_.write("/proc/sys/fs/file-nr", used + "\t0\t" + most + "\n");
  }
  void set_tasks(const std::string& used, const std::string& threads, const std::string& numbers) {
    folder_.write("/proc/loadavg", "1.0 1.0 1.0 1/" + used + " 4242\n");
    folder_.write("/proc/sys/kernel/threads-max", threads);
    folder_.write("/proc/sys/kernel/pid_max", numbers);
  }
  std::vector<std::string> words() {
    empty_.clock.advance(60s);
    const Instant now = empty_.clock.now();
    auto observed =
        kHostLimits.observe(host_, {.now = now, .deadline = now.mono + 5s, .kernel_log_from = from_});
    if (!observed) return {std::string(to_string(observed.error().code))};
    from_ = observed->kernel_log_next.value_or(from_);
    history_.add(std::move(observed->observations), kHostLimits.info.window);
    std::vector<std::string> list;
    for (const Finding& finding :
         kHostLimits.judge({.now = now, .history = history_, .facts = catalog::builtin(), .expectation = {}}))
      list.push_back(std::string(to_string(finding.health)) + " " + finding.reason);
    return list;
  }

  host::TestFolder folder_;
  fakes::EmptyHost empty_;
  host::Files files_{folder_.path()};
  TestLog log_;
  host::Host host_{empty_.clock,    files_,           log_,       empty_.gpus, empty_.filesystems,
                   empty_.ethernet, empty_.time_sync, empty_.nvme};
  History history_;
  std::uint64_t from_ = 0;
};

TEST_F(HostLimits, room_is_left) {
  set_files("18432", "9223372036854775807");
  set_tasks("900", "4127000", "4194304");
  EXPECT_THAT(words(), IsEmpty());
}

TEST_F(HostLimits, the_smaller_of_two_limits_of_tasks_counts) {
  set_tasks("32000", "4127000", "32768");
  EXPECT_THAT(words(), ElementsAre("degraded tasks_near_limit"));
  set_tasks("32000", "32768", "4194304");
  EXPECT_THAT(words(), ElementsAre("degraded tasks_near_limit"));
}

TEST_F(HostLimits, nearly_all_files_are_open) {
  set_files("95", "100");
  EXPECT_THAT(words(), ElementsAre("degraded files_near_limit"));
  set_files("90", "100");
  EXPECT_THAT(words(), IsEmpty());
}

TEST_F(HostLimits, a_table_without_a_limit_is_never_full) {
  folder_.write("/proc/sys/net/netfilter/nf_conntrack_count", "5");
  folder_.write("/proc/sys/net/netfilter/nf_conntrack_max", "0");
  EXPECT_THAT(words(), IsEmpty());
}

TEST_F(HostLimits, a_limit_that_was_reached_counts_for_half_an_hour) {
  log_.write(empty_.clock.now(), "VFS: file-max limit 1048576 reached");
  EXPECT_THAT(words(), ElementsAre("degraded kernel_limit_reached"));
  empty_.clock.advance(31min);
  EXPECT_THAT(words(), IsEmpty());
}

TEST_F(HostLimits, looks_without_the_log_and_not_without_any_number) {
  log_.refuse();
  set_files("95", "100");
  EXPECT_THAT(words(), ElementsAre("degraded files_near_limit"));
  set_files("many", "100");
  EXPECT_THAT(words(), ElementsAre("malformed"));
}

}  // namespace
}  // namespace autopilot::checks
