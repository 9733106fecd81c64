// SPDX-License-Identifier: Apache-2.0
#include "host/infiniband/adapter_port.hpp"

#include <gtest/gtest.h>

#include "host/files/test_folder.hpp"

namespace autopilot::host {
namespace {

constexpr const char* kDevices = "/sys/bus/pci/devices/";

TEST(PortOfAdapter, is_the_infiniband_port_or_the_interface) {
  const TestFolder folder;
  const Files files(folder.path());
  const auto write = [&](const std::string& path, const std::string& text) {
    folder.write(kDevices + path, text);
  };
  const auto write_rdma = [&](const std::string& address, const std::string& name, const std::string& layer) {
    const std::string device = address + "/infiniband/" + name;
    write(device + "/ports/1/link_layer", layer);
    folder.link("/sys/class/infiniband/" + name, kDevices + device);
  };
  write_rdma("0000:18:00.0", "mlx5_0", "InfiniBand\n");
  write("0000:18:00.0/net/ibp24s0/operstate", "up\n");
  write_rdma("0000:29:00.0", "mlx5_8", "Ethernet\n");
  write("0000:29:00.0/net/ens41f0np0/operstate", "up\n");
  write("0000:2a:00.0/vendor", "0x15b3\n");
  EXPECT_EQ(port_of_adapter(files, "0000:18:00.0"), "mlx5_0/1");
  EXPECT_EQ(port_of_adapter(files, "0000:29:00.0"), "ens41f0np0");
  EXPECT_EQ(port_of_adapter(files, "0000:2A:00.0"), "");
  EXPECT_EQ(port_of_adapter(files, "0000:ff:00.0"), "");
  EXPECT_EQ(port_of_adapter(files, "../../x"), "");
}

TEST(DevicesOfDriver, are_told_from_its_other_files) {
  const TestFolder folder;
  const Files files(folder.path());
  for (const char* name : {"0000:18:00.0", "0000:9a:00.1", "bind", "module"})
    folder.write(std::string("/sys/bus/pci/drivers/mlx5_core/") + name, "");
  EXPECT_EQ(devices_of_driver(files, "mlx5_core"),
            (std::vector<std::string>{"0000:18:00.0", "0000:9a:00.1"}));
  EXPECT_TRUE(devices_of_driver(files, "ena").empty());
}

TEST(RdmaPartOfAdapter, is_told_by_its_device_and_by_the_drivers_of_its_parts) {
  const TestFolder folder;
  const Files files(folder.path());
  const auto add = [&](const std::string& path) { folder.write(kDevices + path, ""); };
  add("0000:18:00.0/infiniband/mlx5_0/node_guid");
  add("0000:29:00.0/net/ens41f0np0/operstate");
  EXPECT_EQ(rdma_part(files, "0000:18:00.0"), RdmaPart::started);
  EXPECT_EQ(rdma_part(files, "0000:29:00.0"), RdmaPart::no_driver);
  folder.write("/sys/module/mlx5_ib/refcnt", "0\n");
  EXPECT_EQ(rdma_part(files, "0000:29:00.0"), RdmaPart::untold);

  folder.write("/sys/bus/auxiliary/devices/mlx5_core.eth.2/uevent", "");
  EXPECT_EQ(rdma_part(files, "0000:29:00.0"), RdmaPart::off);
  add("0000:29:00.0/mlx5_core.rdma.2/uevent");
  EXPECT_EQ(rdma_part(files, "0000:29:00.0"), RdmaPart::not_started);
  add("0000:29:00.0/mlx5_core.rdma.2/driver/uevent");
  EXPECT_EQ(rdma_part(files, "0000:29:00.0"), RdmaPart::started);
}

TEST(PciAddressOfPart, is_that_of_the_function_above_it) {
  const TestFolder folder;
  const Files files(folder.path());
  const std::string device = "/sys/devices/pci0000:16/0000:16:01.0/0000:18:00.0";
  folder.write(device + "/mlx5_core.rdma.2/uevent", "");
  folder.link("/sys/bus/auxiliary/devices/mlx5_core.rdma.2", device + "/mlx5_core.rdma.2");
  EXPECT_EQ(pci_address_of_part(files, "mlx5_core.rdma.2"), "0000:18:00.0");
  EXPECT_EQ(pci_address_of_part(files, "mlx5_core.rdma.3"), std::nullopt);
  EXPECT_EQ(pci_address_of_part(files, "../../pci/devices"), std::nullopt);
}

}  // namespace
}  // namespace autopilot::host
