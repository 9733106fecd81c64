// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/builtin.hpp"
#include "tests/fakes/fake_host.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::checks {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class HostPressure : public ::testing::Test {
 protected:
  void set(const std::string& resource, const std::string& some, const std::string& full) {
    folder_.write("/proc/pressure/" + resource, "some avg10=99.00 avg60=99.00 avg300=" + some +
                                                    " total=0\nfull avg10=99.00 avg60=99.00 avg300=" + full +
                                                    " total=0\n");
  }
  std::vector<std::string> words() {
    empty_.clock.advance(60s);
    const Instant now = empty_.clock.now();
    auto observed = kHostPressure.observe(host_, {.now = now, .deadline = now.mono + 5s});
    if (!observed) return {std::string(to_string(observed.error().code))};
    history_.add(std::move(observed->observations), kHostPressure.info.window);
    std::vector<std::string> list;
    for (const Finding& finding : kHostPressure.judge(
             {.now = now, .history = history_, .facts = catalog::builtin(), .expectation = {}}))
      list.push_back(std::string(to_string(finding.health)) + " " + finding.reason);
    return list;
  }

  host::TestFolder folder_;
  fakes::EmptyHost empty_;
  host::Files files_{folder_.path()};
  host::Host host_{empty_.clock,       files_,          empty_.kernel_log, empty_.gpus,
                   empty_.filesystems, empty_.ethernet, empty_.time_sync,  empty_.nvme};
  History history_;
};

TEST_F(HostPressure, a_busy_minute_is_none) {
  set("cpu", "40.00", "0.00");
  set("io", "99.00", "20.00");  // somebody always waits for a disk
  EXPECT_THAT(words(), IsEmpty());
}

TEST_F(HostPressure, five_minutes_of_waiting) {
  set("cpu", "95.00", "0.00");  // shown only
  set("io", "99.00", "60.00");
  EXPECT_THAT(words(), ElementsAre("degraded io_pressure"));
}

TEST_F(HostPressure, processors_alone_are_no_look) {
  set("cpu", "1.00", "0.00");
  folder_.write("/proc/pressure/io", "garbage");
  EXPECT_THAT(words(), ElementsAre("malformed"));
}

TEST_F(HostPressure, disks_alone_are) {
  set("io", "99.00", "60.00");
  EXPECT_THAT(words(), ElementsAre("degraded io_pressure"));
  EXPECT_EQ(history_.find(host_subject(), "pressure.cpu_some_avg300")->missing, "not_found");
}

TEST_F(HostPressure, is_unsupported_only_where_the_kernel_does_not_count) {
  EXPECT_THAT(words(), ElementsAre("not_found"));  // nothing of /proc is here
  folder_.write("/proc/loadavg", "0.00 0.00 0.00 1/100 4242\n");
  EXPECT_THAT(words(), ElementsAre("unsupported"));
  folder_.write("/proc/pressure/cpu", "garbage");
  EXPECT_THAT(words(), ElementsAre("malformed"));
}

}  // namespace
}  // namespace autopilot::checks
