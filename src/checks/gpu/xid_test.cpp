// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "checks/builtin.hpp"
#include "checks/kernel_log/driver_events.hpp"
#include "checks/kernel_log/record_effects.hpp"
#include "checks/kernel_log/rule_events.hpp"
#include "host/host.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::checks {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kGpu = "0000:3b:00.0";

class StillClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return now_; }
  void advance(Duration by) { now_ = {now_.wall + by, now_.mono + by}; }

 private:
  Instant now_{WallTime{1'800'000'000s}, MonoTime{10h}};
};

class FakeLog final : public host::KernelLog {
 public:
  explicit FakeLog(const Clock& clock) : clock_(clock) {}
  [[nodiscard]] Result<host::KernelRecords> read(std::uint64_t from, MonoTime) const override {
    if (is_denied) return fail(Errc::denied, "/dev/kmsg: needs CAP_SYSLOG");
    host::KernelRecords result;
    for (const auto& record : records_)
      if (record.sequence >= from) result.records.push_back(record);
    result.next = records_.size();
    result.lost = lost;
    result.witness = "/dev/kmsg";
    return result;
  }
  void write(std::string text, int facility = 0, bool injected = false) {
    host::KernelRecord record;
    record.sequence = records_.size();
    record.time = clock_.now();
    record.facility = facility;
    record.injected = injected;
    record.text = std::move(text);
    records_.push_back(std::move(record));
  }
  bool is_denied = false;
  std::uint64_t lost = 0;

 private:
  const Clock& clock_;
  std::vector<host::KernelRecord> records_;
};

class FakeGpus final : public host::Gpus {
 public:
  Result<host::GpuReport> read(const std::vector<host::GpuGroup>&, MonoTime) const override {
    host::GpuReport report;
    report.state = state;
    return report;
  }
  Result<std::vector<host::GpuEvent>> take_events(MonoTime) const override {
    ++asked;
    if (is_broken) return fail(Errc::unavailable, "no driver");
    return std::exchange(events, {});
  }
  mutable std::vector<host::GpuEvent> events;
  mutable int asked = 0;
  bool is_broken = false;
  host::DriverState state = host::DriverState::ok;
};

struct NoFilesystems final : host::Filesystems {
  [[nodiscard]] Result<std::vector<host::Mount>> mounts() const override {
    return std::vector<host::Mount>{};
  }
  [[nodiscard]] Result<host::Usage> usage(const host::Mount&, MonoTime) const override {
    return fail(Errc::unsupported, "none");
  }
};
struct NoEthernet final : host::Ethernet {
  [[nodiscard]] Result<std::vector<host::EthernetLink>> links(MonoTime) const override {
    return std::vector<host::EthernetLink>{};
  }
};
struct NoTimeSync final : host::TimeSync {
  [[nodiscard]] Result<host::TimeSyncState> read() const override { return fail(Errc::unsupported, "none"); }
};
struct NoNvme final : host::NvmeDevices {
  [[nodiscard]] Result<std::vector<host::NvmeController>> controllers() const override {
    return std::vector<host::NvmeController>{};
  }
  [[nodiscard]] Result<host::NvmeHealth> health(const std::string&, MonoTime) const override {
    return fail(Errc::unsupported, "none");
  }
};

class GpuXidTest : public testing::Test {
 protected:
  GpuXidTest() {
    folder_.write("/sys/bus/pci/devices/0000:3b:00.0/vendor", "0x10de\n");
    folder_.write("/sys/bus/pci/devices/0000:3b:00.0/device", "0x2330\n");
    folder_.write("/sys/bus/pci/devices/0000:3b:00.0/class", "0x030200\n");
  }

  Result<Observed> observe() { return kGpuXid.observe(host_, {clock_.now(), clock_.now().mono + 5s, from_}); }
  Findings look() {
    auto observed = observe();
    EXPECT_TRUE(observed) << observed.error().what;
    if (!observed) return {};
    if (observed->kernel_log_next) from_ = *observed->kernel_log_next;
    history_.add(observed->observations, kGpuXid.info.window);
    return judge();
  }
  Findings judge() { return kGpuXid.judge({clock_.now(), history_, catalog::builtin(), expectation_}); }
  void xid(const std::string& rest, const char* pci = "0000:3b:00") {
    log_.write("NVRM: Xid (PCI:" + std::string(pci) + "): " + rest);
  }

  const host::TestFolder folder_;
  StillClock clock_;
  host::Files files_{folder_.path()};
  FakeLog log_{clock_};
  FakeGpus gpus_;
  NoFilesystems filesystems_;
  NoEthernet ethernet_;
  NoTimeSync time_sync_;
  NoNvme nvme_;
  host::Host host_{clock_, files_, log_, gpus_, filesystems_, ethernet_, time_sync_, nvme_};
  History history_;
  Expectation expectation_;
  std::uint64_t from_ = 0;
};

MATCHER_P4(IsFinding, key, reason, health, action, "") {
  *result_listener << to_string(arg.subject) << " " << arg.reason << " " << to_string(arg.health) << " "
                   << to_string(arg.action) << ": " << arg.message;
  return arg.subject.key == key && arg.reason == reason && arg.health == health && arg.action == action;
}

TEST_F(GpuXidTest, is_healthy_with_a_log_that_says_nothing_about_gpus) {
  log_.write("usb 1-1: new device");
  EXPECT_THAT(look(), IsEmpty());
  const auto observed = observe();
  EXPECT_THAT(observed->witnesses, ElementsAre("/dev/kmsg"));
  EXPECT_EQ(gpus_.asked, 0) << "the driver is not woken where the kernel log can be read";
}

TEST_F(GpuXidTest, an_uncorrectable_memory_error_fails_the_gpu_with_the_line_as_evidence) {
  xid("48, pid=12, name=python, DBE (double bit error) ECC Error");
  const auto findings = look();
  ASSERT_THAT(findings,
              ElementsAre(IsFinding(kGpu, "xid_memory", Health::failed, Action::drain_then_reset_gpu)));
  const Value* line = find_attribute(findings[0].evidence, "line");
  ASSERT_NE(line, nullptr);
  EXPECT_EQ(*line, Value{std::string("NVRM: Xid (PCI:0000:3b:00): 48, pid=12, name=python, DBE (double bit "
                                     "error) ECC Error")});
  EXPECT_EQ(*find_attribute(findings[0].evidence, "code"), Value{std::int64_t{48}});
}

TEST_F(GpuXidTest, says_off_the_bus_for_the_code_and_for_lines_without_one) {
  xid("79, pid=1, name=x, GPU has fallen off the bus.");
  log_.write("NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.");
  log_.write(
      "NVRM: The NVIDIA GPU 0000:5e:00.0\nNVRM: (PCI ID: 10de:26b5) installed in this system has\n"
      "NVRM: fallen off the bus and is not responding to commands.");
  EXPECT_THAT(look(), ElementsAre(IsFinding(kGpu, "gpu_fallen_off_bus", Health::failed, Action::power_cycle),
                                  IsFinding("0000:5e:00.0", "gpu_fallen_off_bus", Health::failed,
                                            Action::power_cycle)));
}

TEST_F(GpuXidTest, an_nvlink_error_is_about_the_link_that_the_line_names) {
  xid("74, pid=1, name=x, NVLink: fatal error detected on link 14(0x10, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)");
  const auto findings = look();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(to_string(findings[0].subject), std::string("nvlink/") + kGpu + "/14");
}

TEST_F(GpuXidTest, unit_and_status_of_an_nvlink_error_decide_what_it_means) {
  xid("149, pid=1, name=x, NETIR_BER_EVENT Nonfatal XC0 i0 Link 5 (0x00000013 0x00000001 0x0 0x0 0x0 0x0 "
      "0x0)");
  EXPECT_THAT(look(), IsEmpty()) << "the vendor ignores it";
  xid("144, pid=1, name=x, SAW_MVB Fatal XC0 i0 Link -1 (0x00000021 0x00000002 0x0 0x0 0x0 0x0 0x0)");
  const auto findings = look();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings[0], IsFinding(kGpu, "xid_nvlink", Health::failed, Action::reset_gpu));
}

TEST_F(GpuXidTest, where_the_tables_are_silent_the_severity_in_the_line_of_an_nvlink_error_counts) {
  xid("146, pid=1, name=x, NEW_UNIT Nonfatal XC0 i0 Link -1 (0x0000007f 0x00000002 0x0 0x0 0x0 0x0 0x0)");
  ASSERT_EQ(look().size(), 1U);
  EXPECT_THAT(look()[0], IsFinding(kGpu, "xid_nvlink", Health::degraded, Action::run_diagnostics));
  xid("146, pid=1, name=x, NEW_UNIT Fatal XC0 i0 Link -1 (0x0000007f 0x00000002 0x0 0x0 0x0 0x0 0x0)");
  ASSERT_EQ(look().size(), 1U);
  EXPECT_THAT(look()[0], IsFinding(kGpu, "xid_nvlink", Health::failed, Action::reset_gpu));
}

TEST_F(GpuXidTest, registers_that_mean_nothing_make_no_finding) {
  xid("74, pid=1, name=x, NVLink: fatal error detected on link 11(0x40800001, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)");
  EXPECT_THAT(look(), IsEmpty());
}

TEST_F(GpuXidTest, a_switch_error_without_a_word_for_its_severity_is_judged_by_the_table) {
  log_.write("nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 10003, unhandled interrupt");
  log_.write("nvidia-nvswitch2: SXid (PCI:0000:c2:00.0): 19049, transmit limit");
  const auto findings = look();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].health, Health::failed);
  EXPECT_EQ(findings[0].action, Action::reboot_node);
}

TEST_F(GpuXidTest, a_programs_errors_and_their_clean_up_are_no_hardware_finding) {
  xid("13, pid=1, name=x, Graphics SM Warp Exception on (GPC 2, TPC 1, SM 0): Out Of Range Address");
  xid("31, pid=1, name=x, Ch 00000010, intr 10000000. MMU Fault");
  xid("43, pid=1, name=x, Ch 00000010");
  xid("45, pid=1, name=x, Ch 00000010");
  EXPECT_THAT(look(), IsEmpty());
  EXPECT_EQ(history_.events().size(), 4U);
}

TEST_F(GpuXidTest, one_place_in_two_processes_is_a_suspicion_of_the_chip) {
  xid("13, pid=1, name=train, Graphics SM Warp Exception on (GPC 2, TPC 1, SM 0): Out Of Range Address");
  xid("13, pid=1, name=worker, Graphics SM Warp Exception on (GPC 2, TPC 1, SM 1): Out Of Range Address");
  EXPECT_THAT(look(), IsEmpty()) << "another thread of one process";
  xid("13, pid=2, name=serve, Graphics SM Warp Exception on (GPC 3, TPC 1, SM 0): Out Of Range Address");
  EXPECT_THAT(look(), IsEmpty()) << "another place";
  xid("13, pid=3, name=fold, Graphics SM Warp Exception on (GPC 2, TPC 1, SM 1): Out Of Range Address");
  const auto findings = look();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings[0],
              IsFinding(kGpu, "program_faults_repeat", Health::degraded, Action::run_diagnostics));
  EXPECT_EQ(findings[0].message,
            "Xid 13 in the same unit (GPC 2, TPC 1) in 2 different processes: the program changed, the "
            "fault remained");
  EXPECT_EQ(*find_attribute(findings[0].evidence, "processes"), Value{std::string("1 (train), 3 (fold)")});
}

TEST_F(GpuXidTest, jobs_that_meet_one_place_hours_apart_are_a_suspicion_too) {
  xid("31, pid=1, name=train, Ch 00000010, intr 10000000. MMU Fault");
  EXPECT_THAT(look(), IsEmpty());
  clock_.advance(9h);
  xid("31, pid=2, name=serve, Ch 00000010, intr 10000000. MMU Fault");
  EXPECT_THAT(look(), ElementsAre(IsFinding(kGpu, "program_faults_repeat", Health::degraded,
                                            Action::run_diagnostics)));
  clock_.advance(2h);
  EXPECT_THAT(look(), IsEmpty()) << "no news: from here on its clear rule counts";
}

TEST_F(GpuXidTest, days_later_in_the_same_boot_a_fault_that_no_reset_ended_is_reported) {
  xid("48, pid=1, name=x, DBE (double bit error) ECC Error");
  xid("31, pid=1, name=train, Ch 00000010, intr 10000000. MMU Fault");
  clock_.advance(50h);
  const auto expected =
      ElementsAre(IsFinding(kGpu, "gpu_fault_earlier", Health::degraded, Action::drain_then_reset_gpu));
  EXPECT_THAT(look(), expected);
  EXPECT_THAT(look(), expected);
}

TEST_F(GpuXidTest, programs_that_meet_one_place_days_apart_are_no_suspicion) {
  xid("31, pid=1, name=train, Ch 00000010, intr 10000000. MMU Fault");
  EXPECT_THAT(look(), IsEmpty());
  clock_.advance(25h);
  xid("31, pid=2, name=serve, Ch 00000010, intr 10000000. MMU Fault");
  EXPECT_THAT(look(), IsEmpty());
}

TEST_F(GpuXidTest, who_looks_hours_later_is_told_of_what_no_reset_ended) {
  xid("48, pid=1, name=x, DBE (double bit error) ECC Error");
  xid("109, pid=1, name=x, Ch 00000010, errorString CTX SWITCH TIMEOUT");
  clock_.advance(6h);
  const auto findings = look();
  ASSERT_THAT(
      findings,
      ElementsAre(IsFinding(kGpu, "gpu_fault_earlier", Health::degraded, Action::drain_then_reset_gpu),
                  IsFinding(kGpu, "gpu_fault_earlier", Health::degraded, Action::reset_gpu)));
  EXPECT_THAT(findings[0].message, HasSubstr(". Logged at 2027-01-15T08:00:00.000Z; if the GPU was reset"));
  clock_.advance(1min);
  log_.write("NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  595.45.04  Release Build");
  EXPECT_THAT(look(), IsEmpty());
}

TEST_F(GpuXidTest, what_was_told_when_it_happened_is_the_clear_rules_after_an_hour) {
  xid("48, pid=1, name=x, DBE (double bit error) ECC Error");
  EXPECT_THAT(look(),
              ElementsAre(IsFinding(kGpu, "xid_memory", Health::failed, Action::drain_then_reset_gpu)));
  clock_.advance(61min);
  EXPECT_THAT(look(), IsEmpty());
}

TEST_F(GpuXidTest, what_expires_is_no_news_after_an_hour) {
  xid("54, pid=1, name=x, Auxiliary power is not connected to the GPU board");
  EXPECT_EQ(look().size(), 1U);
  clock_.advance(61min);
  EXPECT_THAT(look(), IsEmpty());
}

TEST_F(GpuXidTest, codes_of_one_class_do_not_swallow_each_other_whatever_their_order) {
  const std::string first = "48, pid=1, name=x, DBE (double bit error) ECC Error";
  const std::string second = "64, Row Remapper: failed to record";
  std::vector<std::vector<std::string>> result;
  for (const auto& [one, other] : {std::pair{first, second}, std::pair{second, first}}) {
    history_ = History{};
    xid(one);
    xid(other);
    xid(other);
    auto& texts = result.emplace_back();
    for (const Finding& finding : look())
      texts.push_back(to_string(*find_attribute(finding.evidence, "code")) + " " +
                      std::string(to_string(finding.action)) +
                      (finding.message.ends_with("(2 times)") ? " twice" : " once"));
  }
  EXPECT_THAT(result, ElementsAre(ElementsAre("48 drain_then_reset_gpu once", "64 reset_gpu twice"),
                                  ElementsAre("48 drain_then_reset_gpu twice", "64 reset_gpu once")));
}

TEST_F(GpuXidTest, the_stronger_advice_for_one_code_stays) {
  xid("95, pid=1, name=x, Uncontained: LTC TAG (0x2, 0x1). RST: Yes, D-RST: No");
  xid("95, pid=2, name=y, Uncontained: LTC TAG (0x2, 0x1). RST: No, D-RST: Yes");
  EXPECT_THAT(look(), ElementsAre(IsFinding(kGpu, "xid_memory", Health::failed, Action::reset_gpu)));
}

TEST_F(GpuXidTest, a_finding_keeps_its_first_line_and_says_that_there_was_more) {
  xid("95, pid=1, name=x, Uncontained: LTC TAG (0x2, 0x1). RST: Yes, D-RST: No");
  look();
  xid("95, pid=2, name=y, Uncontained: LTC TAG (0x2, 0x1). RST: Yes, D-RST: No");
  const auto findings = look();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(to_string(*find_attribute(findings[0].evidence, "pid")), "1");
  EXPECT_EQ(to_string(*find_attribute(findings[0].evidence, "sequence")), "0");
  EXPECT_EQ(to_string(*find_attribute(findings[0].evidence, "lastSequence")), "1");
}

TEST_F(GpuXidTest, the_catalogs_confidence_in_a_code_reaches_its_finding) {
  xid("173, C2C fatal link failure");
  log_.write("nvidia-nvswitch0: SXid (PCI:0000:07:00.0): 23001, Fatal, ingress buffer overflow");
  for (const Finding& finding : look())
    EXPECT_EQ(
        find_attribute(finding.evidence, "confidence") != nullptr &&
            *find_attribute(finding.evidence, "confidence") ==
                Value{finding.subject.kind == SubjectKind::gpu ? catalog::builtin().xid(173)->confidence
                                                               : catalog::builtin().sxid(23001)->confidence},
        true)
        << finding.message;
}

TEST_F(GpuXidTest, keeps_unknown_codes_as_events) {
  xid("9999, something new");
  EXPECT_THAT(look(), IsEmpty());
  ASSERT_EQ(history_.events().size(), 1U);
  EXPECT_EQ(history_.events()[0].value, Value{std::int64_t{9999}});
}

TEST_F(GpuXidTest, the_drivers_verdict_outranks_the_table_and_none_takes_it_back) {
  xid("94, pid=1, name=x, Contained: CE User Channel (0x9). RST: No, D-RST: No");
  xid("154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)");
  const auto findings = look();
  ASSERT_EQ(findings.size(), 2U);
  for (const auto& finding : findings)
    EXPECT_EQ(finding.action, Action::reboot_node) << finding.reason;
  clock_.advance(1min);
  xid("154, GPU recovery action changed from 0x2 (Node Reboot Required) to 0x0 (None)");
  EXPECT_THAT(look(), IsEmpty());
}

TEST_F(GpuXidTest, of_verdicts_the_last_one_counts_also_when_it_is_milder) {
  xid("154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)");
  xid("154, GPU recovery action changed from 0x2 (Node Reboot Required) to 0x3 (Drain P2P)");
  const auto findings = look();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].action, Action::drain_p2p);
  EXPECT_EQ(findings[0].health, Health::degraded);
  EXPECT_THAT(findings[0].message, testing::Not(HasSubstr("times"))) << "they are two";
}

TEST_F(GpuXidTest, follows_the_advice_in_a_contained_error) {
  xid("95, pid=1, name=x, Uncontained: LTC TAG (0x2, 0x1). RST: No, D-RST: Yes");
  EXPECT_THAT(look(),
              ElementsAre(IsFinding(kGpu, "xid_memory", Health::failed, Action::drain_then_reset_gpu)));
}

TEST_F(GpuXidTest, blames_the_whole_gpu_for_what_takes_it_along) {
  xid("95, pid=1, name=x, Uncontained", "0000:3b:00 GPU-I:05 GPU-CI:01");
  const auto findings = look();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(to_string(findings[0].subject), "gpu/0000:3b:00.0");
  EXPECT_EQ(to_string(history_.events()[0].subject), "gpu_instance/0000:3b:00.0/5/1");
}

TEST_F(GpuXidTest, what_user_space_wrote_is_shown_and_never_acts) {
  log_.write("NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.", 1);
  EXPECT_THAT(look(), IsEmpty());
  ASSERT_EQ(history_.events().size(), 1U);
  EXPECT_EQ(*find_attribute(history_.events()[0].attributes, "fromKernel"), Value{false});
}

TEST_F(GpuXidTest, a_program_cannot_write_that_the_driver_injected_a_fault) {
  const std::string line =
      "NVRM: Xid (PCI:0000:3b:00): 144, SAW_MVB Fatal XC0 i1 Link 2 (0x00000021 0x00000002 0x0 0x0 0x0 0x0 "
      "0x0)";
  log_.write(line, 1);
  EXPECT_THAT(look(), IsEmpty());
  log_.write(line);
  const auto findings = look();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_TRUE(findings[0].injected);
}

TEST_F(GpuXidTest, a_reset_that_looks_prove_ends_what_was_said_of_that_gpu_before) {
  const std::string lost = "95, pid=4200, name=python3, Uncontained: LTC TAG (0x2, 0x1). RST: Yes, D-RST: No";
  xid(lost);
  EXPECT_THAT(look(), ElementsAre(IsFinding(kGpu, "xid_memory", Health::failed, Action::reset_gpu)));
  clock_.advance(30s);
  history_.add_event(seen_reset({SubjectKind::gpu, "0000:ff:00.0", {}, "", ""}, clock_.now()));
  EXPECT_EQ(look().size(), 1U) << "another GPU";
  history_.add_event(seen_reset({SubjectKind::gpu, kGpu, {}, "", ""}, clock_.now()));
  EXPECT_THAT(look(), IsEmpty());
  clock_.advance(30s);
  xid(lost);
  EXPECT_EQ(look().size(), 1U);
}

TEST_F(GpuXidTest, an_injected_record_makes_a_finding_that_says_so) {
  log_.write("NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.", 1, true);
  const auto findings = look();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_TRUE(findings[0].injected);
}

TEST_F(GpuXidTest, an_injected_verdict_takes_nothing_real_back) {
  xid("48, pid=12, name=python, DBE (double bit error) ECC Error");
  log_.write("NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x1 (X) to 0x0 (None)", 1,
             true);
  EXPECT_EQ(look().size(), 1U);
}

TEST_F(GpuXidTest, a_storm_of_consequences_does_not_bury_the_cause) {
  xid("48, pid=12, name=python, DBE (double bit error) ECC Error");
  for (int i = 0; i < 20'000; ++i)
    xid("45, pid=" + std::to_string(i) + ", name=x, Ch 00000010");
  EXPECT_THAT(look(),
              ElementsAre(IsFinding(kGpu, "xid_memory", Health::failed, Action::drain_then_reset_gpu)));
  constexpr std::size_t kTold = DriverEvents::kMaxProcesses;  // and all others
  ASSERT_EQ(history_.events().size(), 1 + kTold + 2);
  EXPECT_EQ(*find_attribute(history_.events().back().attributes, "count"),
            Value{static_cast<std::int64_t>(20'000 - kTold - 1)});
}

TEST_F(GpuXidTest, no_flood_of_unlike_errors_hides_another) {
  for (int code = 5000; code < 8000; ++code) {
    xid(std::to_string(code) + ", something new");
    if (code == 6500) xid("79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.");
  }
  EXPECT_THAT(look(),
              ElementsAre(IsFinding(kGpu, "gpu_fallen_off_bus", Health::failed, Action::power_cycle)));
}

TEST_F(GpuXidTest, lines_of_one_look_keep_their_processes_apart) {
  for (const char* pid : {"1", "2", "3"})
    xid("95, pid=" + std::string(pid) + ", name=x, Uncontained");
  look();
  std::vector<std::string> pids;
  for (const Observation& event : history_.events())
    pids.push_back(to_string(*find_attribute(event.attributes, "pid")));
  EXPECT_THAT(pids, ElementsAre("1", "2", "3"));
}

TEST_F(GpuXidTest, records_of_an_earlier_run_are_never_counted_together_with_new_ones) {
  for (int i = 0; i < 51; ++i)
    xid("45, pid=7, name=x, Ch 00000010");
  const auto observed = kGpuXid.observe(host_, {.now = clock_.now(),
                                                .deadline = clock_.now().mono + 5s,
                                                .kernel_log_from = 0,
                                                .kernel_log_counted = 50});
  ASSERT_TRUE(observed);
  std::int64_t before = 0;
  std::int64_t news = 0;
  for (const Observation& event : observed->observations)
    if (event.name == kXidEvent) (*event.sequence < 50 ? before : news) += event_count(event);
  EXPECT_EQ(before, 50);
  EXPECT_EQ(news, 1);
}

TEST_F(GpuXidTest, the_evidence_stays_the_same_until_there_is_more) {
  xid("48, pid=12, name=python, DBE (double bit error) ECC Error");
  const auto first = look();
  clock_.advance(30s);
  EXPECT_EQ(look()[0].evidence, first[0].evidence);
  xid("48, pid=12, name=python, DBE (double bit error) ECC Error");
  EXPECT_NE(look()[0].evidence, first[0].evidence);
}

TEST_F(GpuXidTest, a_new_driver_ends_what_the_old_one_said) {
  log_.write("NVRM: GPU 0000:3b:00.0: RmInitAdapter failed! (0x62:0x40:1860)");
  EXPECT_THAT(look(), ElementsAre(IsFinding(kGpu, "gpu_init_failed", Health::failed, Action::reboot_node)));
  log_.write("NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.161.08  Tue Mar  5 22:42:15 UTC 2024");
  EXPECT_THAT(look(), IsEmpty());
}

// Reported in scitix/sichek 51: no Xid, and the library answers as if nothing was wrong.
TEST_F(GpuXidTest, a_reset_that_the_driver_waits_for_is_told_of_the_node_until_a_gpu_was_reset) {
  const std::string line =
      "NVRM: GPU0 nvCheckOkFailedNoLog: Check failed: Reset required [NV_ERR_RESET_REQUIRED] (0x00000062)";
  log_.write(line, 1);
  EXPECT_THAT(look(), IsEmpty()) << "a program wrote it";
  log_.write(line);
  EXPECT_THAT(look(), ElementsAre(IsFinding("", "gpu_reset_required", Health::degraded,
                                            Action::drain_then_reset_gpu)));
  clock_.advance(30s);
  history_.add_event(seen_reset({SubjectKind::gpu, kGpu, {}, "", ""}, clock_.now()));
  EXPECT_THAT(look(), IsEmpty());
  clock_.advance(30s);
  log_.write(line);
  EXPECT_EQ(look().size(), 1U) << "it was another GPU";
}

TEST_F(GpuXidTest, why_the_driver_did_not_start_a_gpu_says_more_than_that_it_did_not) {
  log_.write(
      "NVRM: The NVIDIA GPU 0000:3b:00.0 (PCI ID: 10de:1c82)\nNVRM: installed in this system is not "
      "supported "
      "by open\nNVRM: nvidia.ko because it does not include the required GPU");
  log_.write("nvidia 0000:3b:00.0: probe with driver nvidia failed with error -1");
  log_.write("nvidia: probe of 0000:5e:00.0 failed with error -1");
  log_.write("NVRM: The NVIDIA probe routine failed for 2 device(s).");
  log_.write("NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.158.01  Release Build");
  EXPECT_THAT(look(),
              ElementsAre(IsFinding(kGpu, "gpu_unsupported", Health::degraded, Action::update_software),
                          IsFinding("0000:5e:00.0", "gpu_init_failed", Health::failed, Action::reboot_node)));
}

TEST_F(GpuXidTest, where_the_driver_names_no_gpu_that_did_not_start_it_is_one_of_the_node) {
  log_.write("NVRM: The NVIDIA probe routine failed for 2 device(s).");
  EXPECT_THAT(look(), ElementsAre(IsFinding("", "gpu_init_failed", Health::degraded, Action::reboot_node)));
}

// The order of NVIDIA/NVSentinel 155: the GPU is missed first, and the driver says then that it was loaded.
TEST_F(GpuXidTest, a_driver_that_missed_a_gpu_while_it_was_loaded_takes_nothing_back) {
  const std::string missed =
      "NVRM: The NVIDIA GPU 0000:3b:00.0\nNVRM: (PCI ID: 10de:26b5) installed in this system has\n"
      "NVRM: fallen off the bus and is not responding to commands.";
  const std::string loaded =
      "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.158.01  Release Build";
  log_.write("NVRM: GPU 0000:5e:00.0: GPU has fallen off the bus.");
  log_.write(missed);
  log_.write("NVRM: The NVIDIA probe routine failed for 1 device(s).");
  log_.write(loaded);
  EXPECT_THAT(look(),
              ElementsAre(IsFinding(kGpu, "gpu_fallen_off_bus", Health::failed, Action::power_cycle)));

  clock_.advance(2min);
  log_.write(loaded);
  EXPECT_THAT(look(), IsEmpty());
}

TEST_F(GpuXidTest, power_smoothing_that_works_again_ends_the_finding_but_no_other) {
  xid("163, Power smoothing disengaged");
  EXPECT_THAT(look(), ElementsAre(IsFinding(kGpu, "xid_power", Health::degraded, Action::none)));
  clock_.advance(30s);
  xid("162, Power smoothing re-engaged");
  EXPECT_THAT(look(), IsEmpty());
  clock_.advance(30s);
  xid("54, Aux power is not connected");
  EXPECT_THAT(look(), ElementsAre(IsFinding(kGpu, "xid_power", Health::failed, Action::check_mechanicals)));
}

TEST_F(GpuXidTest, a_switch_error_without_entry_is_told_in_whole_sentences) {
  log_.write("nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 99999, Fatal, Link 30 something new");
  const auto findings = look();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].message, "SXid 99999: Not in the catalog. Severity by the driver: Fatal.");
  EXPECT_EQ(findings[0].health, Health::degraded) << "what nobody knows takes nothing out of service";
  EXPECT_EQ(findings[0].action, Action::run_diagnostics);
}

TEST_F(GpuXidTest, reports_switch_errors_by_the_drivers_word) {
  log_.write("nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up");
  log_.write("nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Data {0x00000004}");
  log_.write("nvidia-nvswitch2: SXid (PCI:0000:c2:00.0): 11012, Correctable, Link 04 ingress ECC limit");
  const auto findings = look();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].subject.kind, SubjectKind::nvswitch);
  EXPECT_EQ(findings[0].health, Health::failed);
}

TEST_F(GpuXidTest, a_fatal_switch_error_whose_first_row_is_lost_is_told_by_its_second) {
  log_.write(
      "nvidia-nvswitch1: SXid (PCI:0000:aa:00.0): 24007, Severity 1 Engine instance 12 Sub-engine instance "
      "00");
  log_.write("nvidia-nvswitch1: SXid (PCI:0000:aa:00.0): 24007, Data {0x10000000, 0x10008100}");
  log_.write(
      "nvidia-nvswitch2: SXid (PCI:0000:ab:00.0): 24007, Severity 0 Engine instance 12 Sub-engine instance "
      "00");
  const auto findings = look();
  ASSERT_EQ(findings.size(), 1U) << "0 is the number of corrected errors as well";
  EXPECT_EQ(findings[0].subject.key, "0000:aa:00.0");
  EXPECT_EQ(findings[0].health, Health::failed);
}

TEST_F(GpuXidTest, the_second_row_of_a_switch_error_counts_nothing_more) {
  log_.write("nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up");
  log_.write(
      "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Severity 1 Engine instance 30 Sub-engine instance "
      "00");
  const auto findings = look();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings[0].message, Not(HasSubstr("times")));
}

TEST_F(GpuXidTest, counts_driver_events_alone_only_where_the_log_cannot_be_read) {
  log_.is_denied = true;
  gpus_.events = {{Subject{SubjectKind::gpu, kGpu, 0, "", ""}, 79, clock_.now()}};
  const auto observed = observe();
  ASSERT_TRUE(observed);
  EXPECT_THAT(observed->witnesses, ElementsAre(kNvmlEvents));
  EXPECT_FALSE(observed->kernel_log_next);
  history_.add(observed->observations, 1h);
  EXPECT_THAT(judge(),
              ElementsAre(IsFinding(kGpu, "gpu_fallen_off_bus", Health::failed, Action::power_cycle)));

  // The same fault in the log once it can be read again: one finding, by the better witness.
  log_.is_denied = false;
  clock_.advance(2s);
  xid("79, pid=1, name=x, GPU has fallen off the bus.");
  const auto findings = look();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(*find_attribute(findings[0].evidence, "witness"), Value{std::string("/dev/kmsg")});
}

TEST_F(GpuXidTest, asks_the_driver_for_what_the_ring_lost) {
  log_.lost = 500;
  gpus_.events = {{Subject{SubjectKind::gpu, kGpu, 0, "", ""}, 48, clock_.now()}};
  const auto observed = observe();
  ASSERT_TRUE(observed);
  history_.add(observed->observations, 1h);
  EXPECT_EQ(judge().size(), 1U);
}

TEST_F(GpuXidTest, what_the_driver_told_of_a_loss_stands_when_nothing_more_is_lost) {
  log_.lost = 500;
  gpus_.events = {{Subject{SubjectKind::gpu, kGpu, 0, "", ""}, 95, clock_.now()}};
  EXPECT_EQ(look().size(), 1U);
  log_.lost = 0;
  clock_.advance(30s);
  EXPECT_EQ(look().size(), 1U);
}

TEST_F(GpuXidTest, says_why_it_cannot_look) {
  log_.is_denied = true;
  gpus_.is_broken = true;
  const auto observed = observe();
  ASSERT_FALSE(observed);
  EXPECT_EQ(observed.error().code, Errc::denied);
}

TEST_F(GpuXidTest, who_cannot_listen_to_the_driver_is_a_missing_witness_with_its_reason) {
  gpus_.is_broken = true;
  log_.lost = 500;
  const auto observed = observe();
  ASSERT_TRUE(observed);
  EXPECT_THAT(observed->witnesses, ElementsAre("/dev/kmsg"));
  const auto listening =
      std::ranges::find(observed->observations, "driver_events.readable", &Observation::name);
  ASSERT_NE(listening, observed->observations.end());
  EXPECT_FALSE(listening->value);
  EXPECT_EQ(listening->missing, "no driver");
  log_.is_denied = true;
  EXPECT_THAT(observe().error().what,
              testing::HasSubstr("needs CAP_SYSLOG; events of the driver: no driver"));
}

TEST_F(GpuXidTest, an_event_beside_a_record_of_the_same_error_counts_once) {
  log_.lost = 500;
  xid("48, pid=12, name=python, DBE (double bit error) ECC Error");
  for (const auto& [after, times] : {std::pair{Duration{4s}, 1}, std::pair{Duration{2s}, 2}}) {
    clock_.advance(after);  // the second one comes 6 s after the record
    gpus_.events = {{Subject{SubjectKind::gpu, kGpu, 0, "", ""}, 48, clock_.now()}};
    const auto findings = look();
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].message.ends_with("(2 times)"), times == 2) << findings[0].message;
  }
}

TEST_F(GpuXidTest, silence_of_a_driver_that_does_not_work_is_no_witness) {
  log_.is_denied = true;
  for (const auto state : {host::DriverState::library_missing, host::DriverState::unresponsive}) {
    gpus_.state = state;
    const auto observed = observe();
    ASSERT_FALSE(observed);
    EXPECT_EQ(observed.error().code, Errc::denied);
  }
}

TEST_F(GpuXidTest, is_unsupported_only_without_gpu_and_driver) {
  const host::TestFolder empty;
  std::filesystem::create_directories(empty.path() + "/sys/bus/pci/devices");
  const host::Files files{empty.path()};
  const host::Host host{clock_, files, log_, gpus_, filesystems_, ethernet_, time_sync_, nvme_};
  const auto observed = kGpuXid.observe(host, {clock_.now(), clock_.now().mono + 5s, 0});
  ASSERT_FALSE(observed);
  EXPECT_EQ(observed.error().code, Errc::unsupported);
  empty.write("/proc/driver/nvidia/version", "NVRM version\n");
  EXPECT_TRUE(kGpuXid.observe(host, {clock_.now(), clock_.now().mono + 5s, 0}));
}

}  // namespace
}  // namespace autopilot::checks
