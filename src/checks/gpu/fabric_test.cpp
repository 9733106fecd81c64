// SPDX-License-Identifier: Apache-2.0
#include "tests/support/checks/gpu_check_fixture.hpp"

namespace autopilot::checks {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Not degraded, no recovery, routes sound, no time-out, configuration right, partition assigned.
constexpr std::int64_t kHealthyMask = 0x11aa;

class GpuFabric : public GpuCheckTest {
 protected:
  void SetUp() override {
    for (int i = 0; i < 4; ++i) {
      add(i);
      set_registered(i, kHealthyMask);
    }
  }
  void set_registered(int index, std::int64_t mask) {
    set(index, "fabric.state", 3);
    set(index, "fabric.status", 0);
    set(index, "fabric.health_mask", mask);
  }
  void set_unregistered(int index, int state) {
    set(index, "fabric.state", state);
    for (const char* reading : {"fabric.status", "fabric.health_mask"})
      set(index, reading, std::nullopt, 3);
  }
};

TEST_F(GpuFabric, a_healthy_mask_is_not_zero) {
  EXPECT_THAT(look(kGpuFabric), IsEmpty());
}

TEST_F(GpuFabric, a_fabric_that_tells_no_health_is_not_blamed_for_it) {
  for (int i = 0; i < 4; ++i)
    set_registered(i, 0);
  EXPECT_THAT(look(kGpuFabric), IsEmpty());
  for (int i = 0; i < 4; ++i)
    set(i, "fabric.health_mask", std::nullopt, -1);
  EXPECT_THAT(look(kGpuFabric), IsEmpty()) << "a driver before 550";
}

TEST_F(GpuFabric, each_part_of_the_mask_is_read_by_itself) {
  set_registered(0, 0x11a9);
  set_registered(1, 0x119a);
  set_registered(2, 0x1166);
  set_registered(3, 0x21aa);
  EXPECT_THAT(
      look(kGpuFabric),
      ElementsAre(gpu(0) + " degraded fabric_bandwidth_low", gpu(1) + " failed fabric_route_unhealthy",
                  gpu(2) + " degraded fabric_recovering", gpu(3) + " degraded fabric_misconfigured"));
}

TEST_F(GpuFabric, what_is_wrong_with_the_configuration_is_said) {
  set_registered(2, 0x13aa);
  EXPECT_THAT(look(kGpuFabric), ElementsAre(gpu(2) + " degraded fabric_misconfigured"));
  EXPECT_THAT(findings_[0].message, HasSubstr("serial number of the chassis"));
  EXPECT_EQ(*find_attribute(findings_[0].evidence, "healthMask"), Value{std::int64_t{0x13aa}});
  set_registered(2, 0x1faa);
  look(kGpuFabric);
  EXPECT_THAT(findings_[0].message, HasSubstr("cause 15")) << "a number that came after this was written";
}

TEST_F(GpuFabric, an_unfinished_registration_is_a_fault_and_an_error_of_it_another) {
  set_unregistered(1, 1);
  set_unregistered(2, 2);
  set(3, "fabric.status", 999);
  EXPECT_THAT(look(kGpuFabric),
              ElementsAre(gpu(1) + " failed fabric_not_ready", gpu(2) + " failed fabric_not_ready",
                          gpu(3) + " failed fabric_failed"));
  EXPECT_EQ(findings_[0].action, Action::restart_fabric_manager);
}

TEST_F(GpuFabric, a_state_that_came_after_this_was_written_is_unknown_and_told_by_its_number) {
  set_unregistered(2, 9);
  EXPECT_THAT(look(kGpuFabric), ElementsAre(gpu(2) + " unknown could_not_look"));
  EXPECT_THAT(findings_[0].message, HasSubstr("unknown state of its NVLink fabric: 9"));
}

TEST_F(GpuFabric, a_gpu_without_fabric_among_others_that_have_one_is_noticed) {
  set_unregistered(3, 0);
  EXPECT_THAT(look(kGpuFabric), ElementsAre(gpu(3) + " degraded fabric_not_ready"));
  set_unregistered(2, 0);
  set_unregistered(1, 0);
  EXPECT_THAT(look(kGpuFabric), IsEmpty()) << "one against three says nothing";
}

TEST_F(GpuFabric, a_machine_without_fabric_is_not_judged) {
  for (int i = 0; i < 4; ++i)
    set_unregistered(i, 0);
  EXPECT_THAT(look(kGpuFabric), ElementsAre("host unsupported not_supported"));
  for (int i = 0; i < 4; ++i)
    set(i, "fabric.state", std::nullopt, 3);
  EXPECT_THAT(look(kGpuFabric), ElementsAre("host unsupported not_supported"));
}

}  // namespace
}  // namespace autopilot::checks
