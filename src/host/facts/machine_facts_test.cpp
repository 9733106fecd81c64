// SPDX-License-Identifier: Apache-2.0
#include "host/facts/machine_facts.hpp"

#include <gtest/gtest.h>

#include "host/facts/pci_facts.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::host {
namespace {

TEST(KernelArguments, are_listed_without_names_of_disks_and_machines) {
  const auto arguments = parse_kernel_arguments(
      "BOOT_IMAGE=/boot/vmlinuz root=UUID=1 ro rd.lvm.lv=a/b iommu=pt pci=realloc=off console=tty0 "
      "console=ttyS0 note=\"two words\"\n");
  EXPECT_EQ(arguments, (std::map<std::string, std::string>{{"ro", "set"},
                                                           {"iommu", "pt"},
                                                           {"pci", "realloc=off"},
                                                           {"console", "tty0 ttyS0"},
                                                           {"note", "two words"}}));
  EXPECT_TRUE(parse_kernel_arguments("").empty());
  EXPECT_TRUE(parse_kernel_arguments("  =x  \n").empty());
  EXPECT_EQ(parse_kernel_arguments("a=\"unclosed b").at("a"), "unclosed b");
}

TEST(GpuInformation, has_versions) {
  const std::string_view text =
      "Model: \t\t NVIDIA H100\nVideo BIOS: \t 96.00.74.00.01\nGPU Firmware: \t N/A\nGPU UUID: \t GPU-??\n";
  EXPECT_EQ(value_in_information(text, "Video BIOS"), "96.00.74.00.01");
  EXPECT_EQ(value_in_information(text, "GPU Firmware"), "") << "a driver without it";
  EXPECT_EQ(value_in_information("Video BIOS: ??.??.??.??.??", "Video BIOS"), "")
      << "a GPU that does not answer";
  EXPECT_EQ(value_in_information("", "Video BIOS"), "");
}

// A configuration space with one extended capability.
std::string bridge_config(unsigned capability, unsigned control, std::size_t size = 4096) {
  std::string config(4096, '\0');
  config[0x100] = static_cast<char>(capability);
  config[0x102] = 1;
  config[0x106] = static_cast<char>(control);
  config.resize(size);
  return config;
}

TEST(AccessControlServices, redirect_traffic_between_devices_if_they_are_on) {
  EXPECT_EQ(redirects_peer_traffic(bridge_config(0x0D, 0x1D)), true);
  EXPECT_EQ(redirects_peer_traffic(bridge_config(0x0D, 0x01)), false) << "source validation alone";
  EXPECT_EQ(redirects_peer_traffic(bridge_config(0x01, 0x1D)), false) << "another capability";
  EXPECT_EQ(redirects_peer_traffic(bridge_config(0x0D, 0x1D, 256)).error().code, Errc::denied);
  EXPECT_EQ(redirects_peer_traffic("").error().code, Errc::denied);
}

TEST(AccessControlServices, a_chain_that_leads_back_ends) {
  std::string config = bridge_config(0x01, 0);
  config[0x103] = 0x10;  // next: 0x100
  EXPECT_EQ(redirects_peer_traffic(config), false);
  config[0x102] = static_cast<char>(0xC1);  // next: 0x10C
  config[0x10C] = 0x0D;
  config[0x112] = 0x04;
  EXPECT_EQ(redirects_peer_traffic(config), true);
}

TEST(PciIsolation, counts_the_bridges_that_redirect) {
  const TestFolder folder;
  const auto add = [&folder](const std::string& address, const std::string& code, const std::string& config) {
    const std::string device = "/sys/bus/pci/devices/" + address;
    folder.write(device + "/class", code + "\n");
    folder.write(device + "/vendor", "0x8086\n");
    folder.write(device + "/config", config);
  };
  add("0000:00:01.0", "0x060400", bridge_config(0x0D, 0x1C));
  add("0000:00:02.0", "0x060400", bridge_config(0x0D, 0));
  add("0000:01:00.0", "0x030200", "");
  folder.write("/sys/class/iommu/dmar0/x", "");
  PciIsolation isolation = read_pci_isolation(Files(folder.path()));
  EXPECT_EQ(isolation.has_iommu, true);
  EXPECT_EQ(isolation.redirecting_bridges, 1U) << isolation.problem;

  add("0000:00:03.0", "0x060400", std::string(64, '\0'));
  isolation = read_pci_isolation(Files(folder.path()));
  EXPECT_EQ(isolation.redirecting_bridges, std::nullopt);
  EXPECT_NE(isolation.problem.find("0000:00:03.0"), std::string::npos);
  EXPECT_NE(isolation.problem.find("CAP_SYS_ADMIN"), std::string::npos);
}

}  // namespace
}  // namespace autopilot::host
