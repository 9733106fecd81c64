// SPDX-License-Identifier: Apache-2.0
#include "host/pci/pci.hpp"

#include <array>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/host/test_folder.hpp"

namespace autopilot::host {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A GPU behind two bridges, an NVSwitch and a network card.
class PciTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string root_port = "/sys/devices/pci0000:37/0000:37:01.0";
    const std::string switch_port = root_port + "/0000:38:00.0";
    add(root_port, "0x8086", "0x060400");
    add(switch_port, "0x1000", "0x060400");
    add(switch_port + "/0000:3b:00.0", "0x10de", "0x030200");
    add(switch_port + "/0000:3c:00.0", "0x10de", "0x068000");
    add(switch_port + "/0000:3d:00.0", "0x15b3", "0x020700");
    gpu_ = switch_port + "/0000:3b:00.0";
    folder_.write(gpu_ + "/current_link_speed", "32.0 GT/s PCIe\n");
    folder_.write(gpu_ + "/max_link_speed", "32.0 GT/s PCIe\n");
    folder_.write(gpu_ + "/current_link_width", "8\n");
    folder_.write(gpu_ + "/max_link_width", "16\n");
    folder_.write(gpu_ + "/aer_dev_correctable", "RxErr 1\nBadTLP 2\nTOTAL_ERR_COR 3\n");
    folder_.write(gpu_ + "/aer_dev_fatal", "garbage\xff\n");
    folder_.write("/sys/bus/pci/drivers/nvidia/uevent", "");
    folder_.link(gpu_ + "/driver", "/sys/bus/pci/drivers/nvidia");
  }

  void add(const std::string& path, const char* vendor, const char* kind) {
    folder_.write(path + "/vendor", std::string(vendor) + "\n");
    folder_.write(path + "/device", "0x2330\n");
    folder_.write(path + "/class", std::string(kind) + "\n");
    folder_.link("/sys/bus/pci/devices" + path.substr(path.rfind('/')), path);
  }

  TestFolder folder_;
  Files files_{folder_.path()};
  std::string gpu_;
};

TEST_F(PciTest, gpus_are_found_and_other_nvidia_devices_are_none) {
  const auto gpus = scan_nvidia_gpus(files_);
  ASSERT_TRUE(gpus) << gpus.error().what;
  ASSERT_EQ(gpus->size(), 1U);
  EXPECT_EQ(gpus->front().address, "0000:3b:00.0");
  EXPECT_EQ(gpus->front().device, 0x2330U);
  EXPECT_EQ(gpus->front().driver, "nvidia");
}

TEST_F(PciTest, garbage_in_another_device_hides_no_gpu) {
  const std::string port = "/sys/devices/pci0000:37/0000:37:01.0";
  folder_.write(port + "/vendor", "garbage\n");
  folder_.write(port + "/0000:38:00.0/class", "garbage\n");
  const auto gpus = scan_nvidia_gpus(files_);
  ASSERT_TRUE(gpus) << gpus.error().what;
  EXPECT_EQ(gpus->size(), 1U);
}

TEST_F(PciTest, the_vendor_of_a_gpu_is_known_by_its_driver_too) {
  folder_.write(gpu_ + "/vendor", "garbage\n");
  folder_.write(gpu_ + "/device", "garbage\n");
  const auto gpus = scan_nvidia_gpus(files_);
  ASSERT_TRUE(gpus) << gpus.error().what;
  ASSERT_EQ(gpus->size(), 1U);
  EXPECT_EQ(gpus->front().vendor, kPciVendorNvidia);
  EXPECT_EQ(gpus->front().device, 0U);
}

TEST_F(PciTest, a_gpu_beside_one_that_cannot_tell_is_certain_and_the_list_is_not) {
  const std::string other = "/sys/devices/pci0000:37/0000:37:02.0";
  add(other, "garbage", "0x030200");
  EXPECT_TRUE(has_devices(files_, "nvidia_gpu"));
  EXPECT_EQ(scan_nvidia_gpus(files_).error().code, Errc::malformed);
  EXPECT_FALSE(has_devices(files_, "amd_gpu"));
}

TEST_F(PciTest, devices_of_a_class_are_found_and_virtual_functions_are_none) {
  const std::string port = "/sys/devices/pci0000:37/0000:37:01.0/0000:38:00.0";
  add(port + "/0000:3d:00.1", "0x15b3", "0x020700");
  folder_.link(port + "/0000:3d:00.1/physfn", port + "/0000:3d:00.0");
  add(port + "/0000:3e:00.0", "0x144d", "0x010802");
  const std::array<unsigned, 2> classes{pci_class::kInfiniband, pci_class::kNvme};
  const auto found = scan_pci_classes(files_, classes);
  ASSERT_TRUE(found) << found.error().what;
  ASSERT_EQ(found->devices.size(), 2U);
  EXPECT_EQ(found->devices.at(0).address, "0000:3d:00.0");
  EXPECT_EQ(found->devices.at(0).vendor, 0x15b3U);
  EXPECT_EQ(found->devices.at(1).class_code, 0x010802U);
  EXPECT_FALSE(found->unread.has_value());
}

TEST_F(PciTest, one_device_without_a_class_is_told_beside_the_others) {
  folder_.write(gpu_ + "/class", "what\n");
  const std::array<unsigned, 1> classes{pci_class::kInfiniband};
  const auto found = scan_pci_classes(files_, classes);
  ASSERT_TRUE(found) << found.error().what;
  EXPECT_EQ(found->devices.size(), 1U);
  ASSERT_TRUE(found->unread.has_value());
  EXPECT_THAT(found->unread->what, testing::HasSubstr("0000:3b:00.0/class"));
}

TEST_F(PciTest, bridges_are_listed_nearest_first) {
  const auto bridges = pci_bridges_above(files_, "0000:3b:00.0");
  ASSERT_TRUE(bridges) << bridges.error().what;
  EXPECT_THAT(*bridges, ElementsAre("0000:38:00.0", "0000:37:01.0"));
  EXPECT_EQ(pci_bridges_above(files_, "0000:ff:00.0").error().code, Errc::not_found);
  EXPECT_EQ(pci_bridges_above(files_, "../../../etc").error().code, Errc::not_found);
}

TEST_F(PciTest, link_and_errors_are_read_and_what_is_unreadable_is_left_out) {
  const auto link = read_pci_link(files_, "0000:3b:00.0");
  ASSERT_TRUE(link);
  EXPECT_EQ(link->speed_gts, 32.0);
  EXPECT_EQ(link->width, 8);
  EXPECT_EQ(link->max_width, 16);
  const auto errors = read_pci_errors(files_, "0000:3b:00.0");
  ASSERT_TRUE(errors);
  EXPECT_EQ(errors->correctable, 3U);
  EXPECT_EQ(errors->nonfatal, std::nullopt);
  EXPECT_EQ(errors->fatal, std::nullopt);
  EXPECT_EQ(read_pci_link(files_, "0000:ff:00.0").error().code, Errc::not_found);
}

TEST_F(PciTest, the_edge_of_a_card_lies_above_the_switch_that_it_brings) {
  const std::string root_port = "/sys/devices/pci0000:00/0000:00:01.0";
  add(root_port, "0x1022", "0x060400");
  add(root_port + "/0000:01:00.0", "0x1002", "0x060400");
  add(root_port + "/0000:01:00.0/0000:02:00.0", "0x1002", "0x060400");
  add(root_port + "/0000:01:00.0/0000:02:00.0/0000:03:00.0", "0x1002", "0x030000");
  const auto bridges = pci_bridges_above(files_, "0000:03:00.0");
  ASSERT_TRUE(bridges);
  PciDevice radeon{.address = "0000:03:00.0", .vendor = kPciVendorAmd, .driver = "amdgpu"};
  EXPECT_EQ(pci_card_edge(files_, radeon, *bridges), "0000:01:00.0");
  EXPECT_EQ(pci_card_edge(files_, radeon, {}), "0000:03:00.0");
  radeon.vendor = kPciVendorNvidia;
  EXPECT_EQ(pci_card_edge(files_, radeon, *bridges), "0000:03:00.0");
}

TEST_F(PciTest, a_device_without_power_is_asleep) {
  EXPECT_FALSE(is_pci_asleep(files_, "0000:3b:00.0"));
  folder_.write(gpu_ + "/power/runtime_status", "active\n");
  EXPECT_FALSE(is_pci_asleep(files_, "0000:3b:00.0"));
  folder_.write(gpu_ + "/power/runtime_status", "suspended\n");
  EXPECT_TRUE(is_pci_asleep(files_, "0000:3b:00.0"));
}

TEST_F(PciTest, a_device_that_an_administrator_keeps_for_one_driver_is_told_from_others) {
  EXPECT_FALSE(is_meant_for_one_driver(files_, "0000:3b:00.0"));
  folder_.write(gpu_ + "/driver_override", "(null)\n");
  EXPECT_FALSE(is_meant_for_one_driver(files_, "0000:3b:00.0"));
  folder_.write(gpu_ + "/driver_override", "vfio-pci\n");
  EXPECT_TRUE(is_meant_for_one_driver(files_, "0000:3b:00.0"));
}

TEST_F(PciTest, garbage_in_a_device_is_malformed_and_names_the_file) {
  folder_.write(gpu_ + "/class", "what\n");
  const auto gpus = scan_nvidia_gpus(files_);
  ASSERT_FALSE(gpus);
  EXPECT_EQ(gpus.error().code, Errc::malformed);
  EXPECT_THAT(gpus.error().what, testing::HasSubstr("0000:3b:00.0/class"));
}

TEST(Pci, a_machine_without_a_pci_bus_has_no_devices_and_one_without_sysfs_cannot_tell) {
  const TestFolder folder;
  EXPECT_EQ(scan_nvidia_gpus(Files(folder.path())).error().code, Errc::unavailable);
  folder.write("/sys/bus/cpu/uevent", "");
  const auto none = scan_nvidia_gpus(Files(folder.path()));
  ASSERT_TRUE(none);
  EXPECT_THAT(*none, IsEmpty());
}

TEST(Pci, the_running_machine_can_be_scanned) {
  const std::array<unsigned, 3> classes{pci_class::kNvme, pci_class::kEthernet, pci_class::kNetworkOther};
  const auto all = scan_pci_classes(Files(), classes);
  if (!all) GTEST_SKIP() << "no PCI tree here: " << all.error().what;
  for (const PciDevice& device : all->devices)
    EXPECT_TRUE(read_pci_link(Files(), device.address));
}

TEST(Pci, speeds_widths_and_totals_of_the_kernel_are_parsed_and_nothing_else) {
  EXPECT_EQ(parse_pci_speed("2.5 GT/s PCIe"), 2.5);
  EXPECT_EQ(parse_pci_speed("8 GT/s"), 8.0);
  EXPECT_EQ(parse_pci_speed("64.0 GT/s PCIe"), 64.0);
  for (const char* bad : {"", "Unknown", "Unknown speed", "7.0 GT/s PCIe", "16.0", "GT/s 16.0", "16,0 GT/s"})
    EXPECT_EQ(parse_pci_speed(bad), std::nullopt) << bad;
  EXPECT_EQ(parse_pci_width("16"), 16);
  for (const char* bad : {"", "0", "63", "255", "-1", "x16"})
    EXPECT_EQ(parse_pci_width(bad), std::nullopt) << bad;
  EXPECT_EQ(pci_generation(16.0), 4);
  EXPECT_EQ(pci_generation(3.0), std::nullopt);
  EXPECT_EQ(parse_aer_total("RxErr 0\nTOTAL_ERR_NONFATAL 7\n"), 7U);
  EXPECT_EQ(parse_aer_total("TOTAL_ERR_COR -7"), std::nullopt);
  EXPECT_EQ(parse_aer_total(""), std::nullopt);
}

// Two adapters below one switch, each with a GPU at its port of the switch, and a GPU at another root port.
class NearestTest : public testing::Test {
 protected:
  NearestTest() {
    const std::string upper = "/sys/devices/pci0000:37/0000:37:01.0/0000:38:00.0";
    for (const std::string& path :
         {upper + "/0000:39:00.0/0000:3b:00.0", upper + "/0000:39:00.0/0000:3c:00.0",
          upper + "/0000:39:01.0/0000:4b:00.0", upper + "/0000:39:01.0/0000:4c:00.0",
          std::string("/sys/devices/pci0000:37/0000:37:02.0/0000:5b:00.0")}) {
      folder_.write(path + "/class", "0x030200\n");
      folder_.link("/sys/bus/pci/devices" + path.substr(path.rfind('/')), path);
    }
  }

  TestFolder folder_;
  Files files_{folder_.path()};
};

TEST_F(NearestTest, who_shares_most_bridges_is_near) {
  const std::vector<std::string> gpus{"0000:5b:00.0", "0000:3b:00.0", "0000:4b:00.0"};
  EXPECT_THAT(nearest_of(files_, "0000:3c:00.0", gpus), ElementsAre("0000:3b:00.0"));
  EXPECT_THAT(nearest_of(files_, "0000:4c:00.0", gpus), ElementsAre("0000:4b:00.0"));
}

TEST_F(NearestTest, several_may_be_as_near) {
  const std::vector<std::string> gpus{"0000:5b:00.0", "0000:4b:00.0", "0000:4c:00.0"};
  EXPECT_THAT(nearest_of(files_, "0000:3c:00.0", gpus), ElementsAre("0000:4b:00.0", "0000:4c:00.0"));
}

TEST_F(NearestTest, nobody_is_near_without_a_bridge_in_common) {
  const std::vector<std::string> gpus{"0000:3b:00.0", "0000:4b:00.0"};
  EXPECT_THAT(nearest_of(files_, "0000:5b:00.0", gpus), IsEmpty());
  EXPECT_THAT(nearest_of(files_, "", gpus), IsEmpty());
  EXPECT_THAT(nearest_of(files_, "0000:ff:00.0", gpus), IsEmpty());
  EXPECT_THAT(nearest_of(files_, "0000:3c:00.0", {}), IsEmpty());
}

TEST(Devices, are_told_by_their_class) {
  const TestFolder folder;
  folder.write("/sys/class/nvme/nvme0/model", "x\n");
  folder.write("/sys/class/infiniband/mlx5_0/node_type", "1: CA\n");
  const Files files(folder.path());
  EXPECT_TRUE(has_devices(files, "nvme"));
  EXPECT_TRUE(has_devices(files, "infiniband"));
  EXPECT_FALSE(has_devices(files, "nvidia_gpu"));
}

TEST(Devices, a_class_without_a_device_and_a_machine_without_the_class_have_none) {
  const TestFolder folder;
  folder.write("/sys/class/nvme/.keep", "");
  std::filesystem::remove(folder.path() + "/sys/class/nvme/.keep");
  const Files files(folder.path());
  EXPECT_FALSE(has_devices(files, "nvme"));
  EXPECT_FALSE(has_devices(files, "infiniband"));
  EXPECT_FALSE(has_devices(files, "printer"));
}

}  // namespace
}  // namespace autopilot::host
