// SPDX-License-Identifier: Apache-2.0
#include "checks/kernel_log/driver_advice.hpp"

#include <gtest/gtest.h>
#include <string>

#include "checks/kernel_log/decode.hpp"
#include "checks/kernel_log/driver_events.hpp"

namespace autopilot::checks {
namespace {

constexpr const char* kParity = "(0x10, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)";

class DriverAdviceTest : public testing::Test {
 protected:
  void told(const std::string& rest) {
    host::KernelRecord& record = log_.records.emplace_back();
    record.sequence = log_.records.size();
    record.text = "NVRM: Xid (PCI:0000:3b:00): " + rest;
  }
  void link_error(int link, const std::string& registers) {
    told("74, NVLink: fatal error detected on link " + std::to_string(link) + registers);
  }
  // On the last record, as the check sees it.
  [[nodiscard]] DriverAdvice advice() const {
    const Observations events = collect_driver_events(log_).events;
    std::vector<const Observation*> all;
    for (const Observation& event : events)
      all.push_back(&event);
    return advice_on_event(catalog::builtin(), *all.back(), all);
  }
  // On the last record, as `decode` sees it.
  [[nodiscard]] Action decoded() const { return builtin_decoder().decode(log_.records.back())->action; }

  host::KernelRecords log_;
};

TEST_F(DriverAdviceTest, decode_and_the_check_give_the_same_action) {
  told("94, pid=1, name=x, Contained: LTC TAG (0x2, 0x1). RST: Yes, D-RST: Yes");
  EXPECT_EQ(advice().now, Action::reset_gpu);
  EXPECT_EQ(decoded(), Action::reset_gpu);
  told("94, pid=1, name=x, Contained: LTC TAG (0x2, 0x1). RST: No, D-RST: Yes");
  EXPECT_EQ(advice().now, Action::drain_then_reset_gpu);
  EXPECT_EQ(decoded(), Action::drain_then_reset_gpu);
  told("94, pid=1, name=x, Contained: LTC TAG (0x2, 0x1). RST: No, D-RST: No");
  EXPECT_EQ(advice().now, Action::restart_app);
  EXPECT_EQ(decoded(), Action::restart_app);
  told("154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)");
  EXPECT_EQ(advice().now, Action::reboot_node);
  EXPECT_EQ(decoded(), Action::reboot_node);
}

TEST_F(DriverAdviceTest, a_switch_that_hangs_after_the_fault_of_a_program_is_a_fault_of_that_program) {
  constexpr const char* kHangs = "109, pid=42, name=x, Ch 00000008, errorString CTX SWITCH TIMEOUT, Info 0x1";
  told(kHangs);
  EXPECT_EQ(advice().health, Health::failed);
  EXPECT_EQ(advice().fault_class, "driver");
  told("13, pid='<unknown>', name=<unknown>, Graphics Exception: ESR 0x1=0x2");
  told(kHangs);
  EXPECT_EQ(advice().health, Health::degraded);
  EXPECT_EQ(advice().fault_class, "app");
  EXPECT_EQ(advice().now, Action::reset_gpu);
}

TEST_F(DriverAdviceTest, a_switch_that_hangs_after_another_process_failed_or_much_later_is_a_fault) {
  told("13, pid=7, name=y, Graphics Exception: ESR 0x1=0x2");
  told("109, pid=42, name=x, Ch 00000008, errorString CTX SWITCH TIMEOUT, Info 0x1");
  EXPECT_EQ(advice().health, Health::failed);
  log_.records.front().text = "NVRM: Xid (PCI:0000:3b:00): 13, pid=42, name=x, Graphics Exception";
  EXPECT_EQ(advice().health, Health::degraded);
  log_.records.back().time.mono += std::chrono::seconds{31};
  EXPECT_EQ(advice().health, Health::failed);
}

TEST_F(DriverAdviceTest, parity_errors_of_a_link_are_a_fault_from_the_third_on) {
  link_error(4, kParity);
  EXPECT_EQ(advice().health, Health::degraded);
  link_error(5, kParity);
  link_error(5, kParity);
  EXPECT_EQ(advice().health, Health::degraded) << "two on one link, one on another";
  link_error(5, kParity);
  EXPECT_EQ(advice().health, Health::failed);
  EXPECT_EQ(advice().now, Action::drain_then_reset_gpu);
}

TEST_F(DriverAdviceTest, other_errors_of_the_link_are_no_parity_errors) {
  for (int i = 0; i < 3; ++i)
    link_error(4, "(0x1, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)");
  link_error(6, kParity);
  EXPECT_EQ(advice().health, Health::degraded);
}

TEST_F(DriverAdviceTest, a_broken_connection_beside_a_first_parity_error_is_a_fault_at_once) {
  link_error(4, "(0x110, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)");
  EXPECT_EQ(advice().health, Health::failed);
}

TEST_F(DriverAdviceTest, fatal_outranks_a_table_that_knows_only_milder_errors) {
  told("144, SAW_MVB Fatal XC0 i0 Link 2 (0x00000021 0x00000005 0x0 0x0 0x0 0x0 0x0)");
  EXPECT_EQ(advice().health, Health::failed);
  EXPECT_EQ(advice().now, Action::reset_gpu);
  told("144, SAW_MVB Nonfatal XC0 i0 Link 2 (0x00000021 0x00000005 0x0 0x0 0x0 0x0 0x0)");
  EXPECT_EQ(advice().health, Health::healthy);
}

TEST_F(DriverAdviceTest, a_unit_under_a_new_name_tells_why_the_link_went_down) {
  told("149, NETIR_LINK_GONE Fatal XC0 i0 Link 5 (0x02300011 0x0 0x0 0x0 0x0 0x0 0x0)");
  EXPECT_EQ(advice().meaning, catalog::builtin().link_down_reason(35)->meaning);
  const Observations events = collect_driver_events(log_).events;
  EXPECT_EQ(*find_attribute(events.back().attributes, "nvlinkReason"), Value{std::int64_t{35}});
  // The number of another unit, and one in the name of another one.
  told("149, NETIR_NEW Fatal XC0 i0 Link 5 (0x02300012 0x0 0x0 0x0 0x0 0x0 0x0)");
  EXPECT_EQ(builtin_decoder().decode(log_.records.back())->nvlink->reason, std::nullopt);
  told("149, NETIR_INT Fatal XC0 i0 Link 5 (0x02300011 0x0 0x0 0x0 0x0 0x0 0x0)");
  EXPECT_EQ(builtin_decoder().decode(log_.records.back())->nvlink->reason, std::nullopt);
}

TEST_F(DriverAdviceTest, a_code_has_32_bits_without_a_sign) {
  told("4294967295, something new");
  const Observations events = collect_driver_events(log_).events;
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(code_of(events[0]), 4294967295U);
  EXPECT_EQ(advice().fault_class, "unknown");
  EXPECT_EQ(advice().meaning, "Not in the catalog.");
}

}  // namespace
}  // namespace autopilot::checks
