// SPDX-License-Identifier: Apache-2.0
#include "tests/support/checks/log_check_fixture.hpp"

namespace autopilot::checks {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class HostMachineCheck : public LogCheckTest {
 protected:
  HostMachineCheck() : LogCheckTest(kHostMachineCheck, 60s) {}
  void record(const std::string& status) {
    log_.write(empty_.clock.now(), "mce: [Hardware Error]: CPU 4: Machine Check: 0 Bank 9: " + status);
  }
};

TEST_F(HostMachineCheck, the_bit_of_an_uncorrected_error_decides) {
  record("8c00004000010091");
  record("d820000000060150");
  EXPECT_THAT(reasons(), IsEmpty());
  record("be00000000010091");
  EXPECT_THAT(reasons(), ElementsAre("failed machine_check_uncorrected"));
}

TEST_F(HostMachineCheck, many_corrected_ones_are_a_sign) {
  for (int i = 0; i < 24; ++i)
    record("8c00004000010091");
  EXPECT_THAT(reasons(), IsEmpty());
  record("8c00004000010091");
  EXPECT_THAT(reasons(), ElementsAre("degraded machine_checks_corrected"));
}

TEST_F(HostMachineCheck, the_words_of_a_processor_of_amd_decide) {
  const std::string line = "[Hardware Error]: CPU:4 (19:11:1) MC16_STATUS";
  for (int i = 0; i < 24; ++i)
    log_.write(empty_.clock.now(),
               line + "[Over|CE|MiscV|AddrV|-|-|SyndV|CECC|-|-|Scrub]: 0xdc2040000000011b");
  log_.write(empty_.clock.now(), line + "[-|-|MiscV|AddrV|-|-|SyndV|UECC|Deferred|-|-]: 0x9c2031000000011b");
  EXPECT_THAT(reasons(), IsEmpty());
  log_.write(empty_.clock.now(), line + "[-|CE|MiscV|AddrV|-|-|SyndV|CECC|-|-|-]: 0x9c2040000000011b");
  EXPECT_THAT(reasons(), ElementsAre("degraded machine_checks_corrected"));
  log_.write(empty_.clock.now(), line + "[-|UE|MiscV|AddrV|-|TCC|SyndV|UECC|-|Poison|-]: 0xbc002800000c0150");
  EXPECT_THAT(reasons(), testing::Contains("failed machine_check_uncorrected"));
}

TEST_F(HostMachineCheck, a_record_of_the_firmware_counts_by_its_severity) {
  log_.write(empty_.clock.now(), "{1}[Hardware Error]: event severity: corrected");
  EXPECT_THAT(reasons(), IsEmpty());
  log_.write(empty_.clock.now(), "{2}[Hardware Error]: event severity: recoverable");
  EXPECT_THAT(reasons(), ElementsAre("degraded platform_error"));
}

TEST_F(HostMachineCheck, an_error_of_a_neuron_accelerator_is_a_fault_of_the_machine) {
  log_.write(empty_.clock.now(), "NEURON_HW_ERR=HBM_UNCORRECTABLE_ERROR instance-id=i-1 nd-id=0 nc-id=0");
  EXPECT_THAT(reasons(), ElementsAre("failed accelerator_error"));
}

TEST_F(HostMachineCheck, what_a_program_wrote_never_acts) {
  log_.write(empty_.clock.now(), "mce: [Hardware Error]: CPU 4: Machine Check: 0 Bank 9: be00000000010091",
             [](host::KernelRecord& record) { record.facility = 1; });
  EXPECT_THAT(reasons(), IsEmpty());
}

TEST_F(HostMachineCheck, without_the_log_nobody_can_look) {
  log_.refuse();
  EXPECT_THAT(reasons(), ElementsAre("denied"));
}

}  // namespace
}  // namespace autopilot::checks
