// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/builtin.hpp"
#include "checks/kernel_log/test_log.hpp"
#include "tests/fakes/fake_host.hpp"

namespace autopilot::checks {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class HostMachineCheck : public ::testing::Test {
 protected:
  void record(const std::string& status) {
    log_.write(empty_.clock.now(), "mce: [Hardware Error]: CPU 4: Machine Check: 0 Bank 9: " + status);
  }
  std::vector<std::string> words() {
    empty_.clock.advance(60s);
    const Instant now = empty_.clock.now();
    auto observed =
        kHostMachineCheck.observe(host_, {.now = now, .deadline = now.mono + 5s, .kernel_log_from = from_});
    if (!observed) return {std::string(to_string(observed.error().code))};
    from_ = observed->kernel_log_next.value_or(from_);
    history_.add(std::move(observed->observations), kHostMachineCheck.info.window);
    std::vector<std::string> list;
    for (const Finding& finding : kHostMachineCheck.judge(
             {.now = now, .history = history_, .facts = catalog::builtin(), .expectation = {}}))
      list.push_back(std::string(to_string(finding.health)) + " " + finding.reason);
    return list;
  }

  fakes::EmptyHost empty_;
  TestLog log_;
  host::Host host_{empty_.clock,    empty_.files,     log_,       empty_.gpus, empty_.filesystems,
                   empty_.ethernet, empty_.time_sync, empty_.nvme};
  History history_;
  std::uint64_t from_ = 0;
};

TEST_F(HostMachineCheck, the_bit_of_an_uncorrected_error_decides) {
  record("8c00004000010091");
  record("d820000000060150");
  EXPECT_THAT(words(), IsEmpty());
  record("be00000000010091");
  EXPECT_THAT(words(), ElementsAre("failed machine_check_uncorrected"));
}

TEST_F(HostMachineCheck, many_corrected_ones_are_a_sign) {
  for (int i = 0; i < 24; ++i)
    record("8c00004000010091");
  EXPECT_THAT(words(), IsEmpty());
  record("8c00004000010091");
  EXPECT_THAT(words(), ElementsAre("degraded machine_checks_corrected"));
}

TEST_F(HostMachineCheck, a_record_of_the_firmware_counts_by_its_severity) {
  log_.write(empty_.clock.now(), "{1}[Hardware Error]: event severity: corrected");
  EXPECT_THAT(words(), IsEmpty());
  log_.write(empty_.clock.now(), "{2}[Hardware Error]: event severity: recoverable");
  EXPECT_THAT(words(), ElementsAre("degraded platform_error"));
}

TEST_F(HostMachineCheck, what_a_program_wrote_never_acts) {
  log_.write(empty_.clock.now(), "mce: [Hardware Error]: CPU 4: Machine Check: 0 Bank 9: be00000000010091",
             [](host::KernelRecord& record) { record.facility = 1; });
  EXPECT_THAT(words(), IsEmpty());
}

TEST_F(HostMachineCheck, without_the_log_nobody_can_look) {
  log_.refuse();
  EXPECT_THAT(words(), ElementsAre("denied"));
}

}  // namespace
}  // namespace autopilot::checks
