// SPDX-License-Identifier: Apache-2.0
#include "tests/support/checks/log_check_fixture.hpp"

namespace autopilot::checks {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

const std::string kPort = "/sys/devices/pci0000:15/0000:15:01.0";
const std::string kCard = kPort + "/0000:18:00.0";
const std::string kLink = "link/0000:18:00.0|0000:15:01.0";

class HostPcie : public LogCheckTest {
 protected:
  HostPcie() : LogCheckTest(kHostPcie, 2min) {}
  void SetUp() override {
    add(kPort, "0x060400");
    add(kCard, "0x020700");
    folder_.write("/sys/bus/pci/drivers/mlx5_core/uevent", "");
    folder_.link(kCard + "/driver", "/sys/bus/pci/drivers/mlx5_core");
  }
  void add(const std::string& path, const std::string& class_code) const {
    folder_.write(path + "/vendor", "0x15b3\n");
    folder_.write(path + "/device", "0x1021\n");
    folder_.write(path + "/class", class_code + "\n");
    set(path, 16, "32.0 GT/s PCIe");
    for (const char* end : {"current", "max"}) {
      folder_.write(path + "/" + end + "_link_width", "16\n");
      folder_.write(path + "/" + end + "_link_speed", "32.0 GT/s PCIe\n");
    }
    count(path, "correctable", "COR", 100);
    count(path, "nonfatal", "NONFATAL", 3);
    count(path, "fatal", "FATAL", 1);
    folder_.link("/sys/bus/pci/devices" + path.substr(path.rfind('/')), path);
  }
  void set(const std::string& path, int width, const std::string& speed) const {
    folder_.write(path + "/current_link_width", std::to_string(width) + "\n");
    folder_.write(path + "/current_link_speed", speed + "\n");
  }
  void count(const std::string& path, const std::string& kind, const std::string& row, int total) const {
    folder_.write(path + "/aer_dev_" + kind, "TOTAL_ERR_" + row + " " + std::to_string(total) + "\n");
  }
  std::vector<std::string> look(Duration later = 2min) {
    auto findings = try_look(later);
    if (!findings) return {"error " + std::string(to_string(findings.error().code))};
    findings_ = *std::move(findings);
    std::vector<std::string> lines;
    for (const Finding& finding : findings_)
      lines.push_back(to_string(finding.subject) + " " + reason_of(finding));
    return lines;
  }

  Findings findings_;
};

TEST_F(HostPcie, what_was_counted_before_the_first_look_is_no_news) {
  EXPECT_THAT(look(), IsEmpty());
  EXPECT_THAT(look(), IsEmpty());
}

TEST_F(HostPcie, lanes_and_speed_are_compared_with_what_both_ends_can) {
  set(kCard, 8, "16.0 GT/s PCIe");
  EXPECT_THAT(look(), ElementsAre(kLink + " degraded pcie_device_width_low",
                                  kLink + " degraded pcie_device_speed_low"));
  EXPECT_EQ(findings_[0].message, "0000:18:00.0 (mlx5_core) runs on 8 PCIe lanes, but supports 16");
  EXPECT_THAT(findings_[1].message, HasSubstr("at 16 GT/s, but supports 32"));
  folder_.write(kPort + "/max_link_width", "8\n");
  folder_.write(kPort + "/max_link_speed", "16.0 GT/s PCIe\n");
  EXPECT_THAT(look(), IsEmpty()) << "the port can do no more";
}

TEST_F(HostPcie, the_end_that_counts_errors_is_named) {
  look();
  count(kPort, "nonfatal", "NONFATAL", 5);
  EXPECT_THAT(look(), ElementsAre(kLink + " degraded pcie_device_errors"));
  EXPECT_THAT(findings_[0].message, HasSubstr("port 0000:15:01.0 above it counted 2 uncorrected errors"));
  EXPECT_EQ(*find_attribute(findings_[0].evidence, "device"), Value{0.0});
  EXPECT_THAT(look(30min), IsEmpty()) << "old errors are no news";
}

TEST_F(HostPcie, corrected_errors_count_by_their_rate) {
  look();
  count(kCard, "correctable", "COR", 200);
  EXPECT_THAT(look(), IsEmpty()) << "50 per minute";
  count(kCard, "correctable", "COR", 600);
  EXPECT_THAT(look(), ElementsAre(kLink + " degraded pcie_device_corrects"));
  EXPECT_THAT(findings_[0].message, HasSubstr("it counted 125 corrected errors per minute"));
}

TEST_F(HostPcie, a_device_that_reads_as_all_ones_is_unknown_never_healthy) {
  set(kCard, 63, "Unknown");
  EXPECT_THAT(look(), ElementsAre(kLink + " unknown could_not_look"));
}

TEST_F(HostPcie, a_card_that_left_its_slot_is_told_until_it_is_back) {
  say("pcieport 0000:15:01.0: pciehp: Slot(3): Link Down");
  EXPECT_THAT(look(), ElementsAre("link/0000:15:01.0 degraded pcie_device_left"));
  say("pcieport 0000:15:01.0: pciehp: Slot(3): Link Up");
  EXPECT_THAT(look(), IsEmpty());
  say("pcieport 0000:15:01.0: DPC: containment event, status:0x1f01 source:0x0000");
  EXPECT_THAT(look(), ElementsAre("link/0000:15:01.0 degraded pcie_port_cut_off"));
  EXPECT_THAT(look(61min), IsEmpty());
}

TEST_F(HostPcie, an_error_line_is_about_the_gpu_that_reports_it_or_is_alone_behind_the_port) {
  const std::string port = "/sys/devices/pci0000:3a/0000:3a:01.0";
  add(port, "0x060400");
  add(port + "/0000:3b:00.0", "0x030200");
  folder_.write(port + "/0000:3b:00.0/vendor", "0x10de\n");
  say("pcieport 0000:3a:01.0: AER: Corrected error received: 0000:3b:00.0");
  say("nvidia 0000:3b:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)");
  say("pcieport 0000:3a:01.0: AER: Corrected error received: 0000:3a:01.0");
  say("pcieport 0000:15:01.0: AER: Corrected error received: 0000:18:00.0");
  EXPECT_THAT(look(), IsEmpty()) << "lines make no finding";
  std::vector<std::string> subjects;
  for (const Observation& event : history_.events())
    subjects.push_back(to_string(event.subject));
  const std::string gpu = "gpu/0000:3b:00.0";
  EXPECT_THAT(subjects, ElementsAre(gpu, gpu, gpu, kLink));
}

constexpr const char* kFatalLine =
    "mlx5_core 0000:18:00.0: AER: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, "
    "(Receiver ID)";

TEST_F(HostPcie, a_fatal_error_in_the_log_is_told_with_its_line) {
  say("pcieport 0000:15:01.0: AER: Uncorrected (Fatal) error received: 0000:18:00.0");
  say(kFatalLine);
  say("mlx5_core 0000:18:00.0: AER:    [18] MalfTLP                (First)");
  EXPECT_THAT(look(), ElementsAre(kLink + " degraded pcie_device_errors"));
  EXPECT_EQ(findings_[0].message,
            std::string("0000:18:00.0: the kernel logged 1 fatal PCIe error in the last 20 minutes: ") +
                kFatalLine);
  EXPECT_EQ(*find_attribute(findings_[0].evidence, "line"), Value{std::string(kFatalLine)});
  EXPECT_EQ(*find_attribute(findings_[0].evidence, "layer"), Value{std::string("Transaction Layer")});
  EXPECT_EQ(*find_attribute(findings_[0].evidence, "error"), Value{std::string("MalfTLP")});
  EXPECT_THAT(look(30min), IsEmpty()) << "old errors are no news";
}

TEST_F(HostPcie, an_error_that_is_counted_and_logged_is_one_finding) {
  look();
  count(kCard, "fatal", "FATAL", 2);
  say(kFatalLine);
  EXPECT_THAT(look(), ElementsAre(kLink + " degraded pcie_device_errors"));
  EXPECT_THAT(findings_[0].message, HasSubstr("it counted 1 uncorrected errors in the last 20 minutes"));
  EXPECT_EQ(*find_attribute(findings_[0].evidence, "line"), Value{std::string(kFatalLine)});
}

TEST_F(HostPcie, corrected_errors_in_the_log_count_by_their_rate) {
  const std::string line =
      "mlx5_core 0000:18:00.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Transmitter ID)";
  say(line);
  EXPECT_THAT(look(), IsEmpty());
  for (int i = 0; i < 300; ++i)
    say(line);
  EXPECT_THAT(look(), ElementsAre(kLink + " degraded pcie_device_corrects"));
  EXPECT_THAT(look(15min), IsEmpty()) << "the rate fell";
}

TEST_F(HostPcie, lines_about_a_gpu_have_the_words_of_its_own_check) {
  const std::string gpu = kPort + "/0000:1b:00.0";
  add(gpu, "0x030200");
  folder_.write(gpu + "/vendor", "0x10de\n");
  say("nvidia 0000:1b:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer, "
      "(Requester ID)");
  EXPECT_THAT(look(), ElementsAre("gpu/0000:1b:00.0 degraded pcie_aer_nonfatal"));
}

TEST_F(HostPcie, an_error_of_a_device_that_nobody_knows_is_told_too) {
  say("pcieport 0000:80:01.1: AER: Multiple Uncorrectable (Fatal) error message received from 0000:81:00.0");
  EXPECT_THAT(look(), ElementsAre("link/0000:81:00.0 degraded pcie_device_errors"));
}

constexpr const char* kSlowLine =
    "mlx5_core 0000:18:00.0: 63.008 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x8 link at "
    "0000:18:00.0 (capable of 504.112 Gb/s with 32.0 GT/s PCIe x16 link)";

TEST_F(HostPcie, a_link_that_came_up_slow_is_told_unless_its_ends_can_do_no_more) {
  say(kSlowLine);
  EXPECT_THAT(look(), ElementsAre(kLink + " degraded pcie_bandwidth_limited"));
  EXPECT_EQ(*find_attribute(findings_[0].evidence, "possibleWidth"), Value{std::string("16")});
  EXPECT_THAT(findings_[0].message, HasSubstr(kSlowLine));
}

TEST_F(HostPcie, a_slot_that_is_narrow_by_design_is_no_slow_link) {
  for (const std::string& end : {kPort, kCard}) {
    set(end, 8, "8.0 GT/s PCIe");
    folder_.write(end + "/max_link_width", end == kPort ? "8\n" : "16\n");
    folder_.write(end + "/max_link_speed", end == kPort ? "8.0 GT/s PCIe\n" : "32.0 GT/s PCIe\n");
  }
  say(kSlowLine);
  EXPECT_THAT(look(), IsEmpty());
}

TEST_F(HostPcie, the_speed_that_a_gpu_has_when_idle_is_no_slow_link) {
  const std::string gpu = kPort + "/0000:1b:00.0";
  add(gpu, "0x030200");
  folder_.write(gpu + "/vendor", "0x10de\n");
  say("pci 0000:1b:00.0: 32.000 Gb/s available PCIe bandwidth, limited by 2.5 GT/s PCIe x16 link at "
      "0000:1b:00.0 (capable of 504.112 Gb/s with 32.0 GT/s PCIe x16 link)");
  EXPECT_THAT(look(), IsEmpty());
  say("pci 0000:1b:00.0: 63.008 Gb/s available PCIe bandwidth, limited by 32.0 GT/s PCIe x2 link at "
      "0000:1b:00.0 (capable of 504.112 Gb/s with 32.0 GT/s PCIe x16 link)");
  EXPECT_THAT(look(), ElementsAre("gpu/0000:1b:00.0 degraded pcie_bandwidth_limited"));
}

TEST_F(HostPcie, forms_of_older_kernels_are_known) {
  say("pciehp 0000:15:01.0:pcie004: Slot(3): Link Down");
  say("dpc 0000:15:02.0:pcie010: DPC containment event, status:0x1f01 source:0x0000");
  say("DMAR: [DMA Read] Request device [18:00.0] fault addr fef00000 [fault reason 06] PTE Read access is "
      "not set");
  EXPECT_THAT(look(),
              ElementsAre("link/0000:15:01.0 degraded pcie_device_left",
                          "link/0000:15:02.0 degraded pcie_port_cut_off", kLink + " degraded iommu_fault"));
}

TEST_F(HostPcie, where_nothing_has_a_link_nothing_is_judged) {
  folder_.write(kCard + "/max_link_width", "0\n");
  EXPECT_THAT(look(), ElementsAre("error unsupported"));
}

TEST_F(HostPcie, without_the_kernel_log_the_links_are_still_seen) {
  log_.refuse();
  set(kCard, 8, "32.0 GT/s PCIe");
  EXPECT_THAT(look(), ElementsAre(kLink + " degraded pcie_device_width_low"));
}

}  // namespace
}  // namespace autopilot::checks
