// SPDX-License-Identifier: Apache-2.0
#include "host/telemetry/nic_counters.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/fake_host.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::host::nic_counters_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class NicCounters : public testing::Test {
 protected:
  void add_rdma(const std::string& device, const std::string& address, const std::string& layer) {
    const std::string pci = "/sys/devices/pci0000:15/0000:15:01.0/" + address;
    folder_.write(pci + "/vendor", "0x15b3\n");
    folder_.link("/sys/bus/pci/devices/" + address, "../../../devices/pci0000:15/0000:15:01.0/" + address);
    folder_.link("/sys/class/infiniband/" + device + "/device", "/sys/bus/pci/devices/" + address);
    const std::string port = "/sys/class/infiniband/" + device + "/ports/1/";
    folder_.write(port + "state", "4: ACTIVE\n");
    folder_.write(port + "phys_state", "5: LinkUp\n");
    folder_.write(port + "link_layer", layer + "\n");
    folder_.write(port + "rate", "400 Gb/sec (4X NDR)\n");
    folder_.write(port + "counters/port_xmit_data", "1000\n");
    folder_.write(port + "counters/port_rcv_data", "2000\n");
    folder_.write(port + "counters/link_downed", "3\n");
    folder_.write(port + "counters/symbol_error", "4\n");
    folder_.write(port + "counters/port_rcv_errors", "5\n");
    folder_.write(port + "hw_counters/out_of_sequence", "6\n");
    folder_.write(port + "hw_counters/packet_seq_err", "7\n");
    folder_.write(port + "hw_counters/rp_cnp_handled", "8\n");
  }
  void add_interface(const std::string& name, const std::string& device) {
    const std::string folder = "/sys/class/net/" + name + "/";
    folder_.write(folder + "operstate", "up\n");
    folder_.write(folder + "flags", "0x1003\n");
    folder_.write(folder + "carrier", "1\n");
    folder_.write(folder + "type", "1\n");
    folder_.write(folder + "speed", "100000\n");
    folder_.write(folder + "dev_port", "0\n");
    folder_.write(folder + "carrier_down_count", "1\n");
    folder_.write(folder + "statistics/tx_bytes", "10\n");
    folder_.write(folder + "statistics/rx_bytes", "20\n");
    folder_.write(folder + "statistics/rx_errors", "1\n");
    folder_.write(folder + "statistics/tx_errors", "2\n");
    if (!device.empty()) folder_.link(folder + "device", device);
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const NicPort& port : scan_nic_ports(host_, MonoTime::max()))
      found.push_back(port.name);
    return found;
  }

  TestFolder folder_;
  fakes::SimulatedClock clock_;
  Files files_{folder_.path()};
  fakes::NoKernelLog log_;
  fakes::NoGpuDriver gpus_;
  fakes::NoFilesystems filesystems_;
  SysfsEthernet ethernet_{files_};
  fakes::NoTimeSync time_sync_;
  fakes::NoNvme nvme_;
  Host host_{clock_, files_, log_, gpus_, filesystems_, ethernet_, time_sync_, nvme_};
};

std::optional<std::uint64_t> value_in(const host::NicCounters& counters, std::string_view file) {
  const auto found = std::ranges::find(counters.each, file, &NicCounter::file);
  return found == counters.each.end() ? std::nullopt : std::optional(found->value);
}

TEST_F(NicCounters, of_an_infiniband_port_are_in_bytes) {
  add_rdma("mlx5_0", "0000:18:00.0", "InfiniBand");
  const auto ports = scan_nic_ports(host_, MonoTime::max());
  ASSERT_EQ(ports.size(), 1U);
  EXPECT_EQ(ports[0].name, "mlx5_0");
  const auto counters = read_nic_counters(host_, ports[0], MonoTime::max());
  EXPECT_EQ(counters.is_up, true);
  EXPECT_EQ(counters.rate_bytes_s, 50e9);
  EXPECT_EQ(counters.tx_bytes, 4000U);
  EXPECT_EQ(counters.rx_bytes, 8000U);
  EXPECT_EQ(counters.link_downed, 3U);
  EXPECT_EQ(counters.errors, 9U);
  EXPECT_EQ(counters.retransmits, 13U);
  EXPECT_EQ(counters.cnp, 8U);
  EXPECT_THAT(pci_path(files_, "0000:18:00.0"), ElementsAre("pci0000:15", "0000:15:01.0", "0000:18:00.0"));
}

TEST_F(NicCounters, of_roce_hold_the_traffic_of_the_kernel_too) {
  add_rdma("mlx5_0", "0000:18:00.0", "Ethernet");
  add_interface("eth0", "/sys/bus/pci/devices/0000:18:00.0");
  folder_.link("/sys/devices/pci0000:15/0000:15:01.0/0000:18:00.0/net/eth0", "/sys/class/net/eth0");
  const auto ports = scan_nic_ports(host_, MonoTime::max());
  ASSERT_EQ(ports.size(), 1U) << "the interface of an RDMA port is listed beside it";
  const auto counters = read_nic_counters(host_, ports[0], MonoTime::max());
  EXPECT_EQ(counters.tx_bytes, 4010U);
  EXPECT_EQ(counters.rx_bytes, 8020U);
  EXPECT_EQ(counters.link_downed, 1U);
  EXPECT_EQ(value_in(counters, "counters/port_xmit_data"), 1000U);
  EXPECT_EQ(value_in(counters, "hw_counters/out_of_sequence"), 6U);
  EXPECT_EQ(value_in(counters, "statistics/tx_errors"), 2U);
  EXPECT_FALSE(value_in(counters, "hw_counters/roce_adp_retrans")) << "a missing file became a number";
}

TEST_F(NicCounters, a_port_that_cannot_be_read_is_missing) {
  add_rdma("mlx5_0", "0000:18:00.0", "InfiniBand");
  const auto ports = scan_nic_ports(host_, MonoTime::max());
  folder_.write("/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error", "many\n");
  folder_.write("/sys/class/infiniband/mlx5_0/ports/1/state", "?\n");
  const auto counters = read_nic_counters(host_, ports.at(0), MonoTime::max());
  EXPECT_FALSE(counters.errors);
  EXPECT_FALSE(counters.is_up);
  EXPECT_TRUE(counters.tx_bytes);
}

TEST_F(NicCounters, a_virtual_interface_counts_only_where_there_is_no_hardware) {
  EXPECT_THAT(names(), IsEmpty());
  add_interface("eth0", "");
  EXPECT_THAT(names(), ElementsAre("eth0"));
  folder_.write("/sys/devices/pci0000:15/0000:29:00.0/vendor", "0x15b3\n");
  folder_.link("/sys/bus/pci/devices/0000:29:00.0", "../../../devices/pci0000:15/0000:29:00.0");
  add_interface("ens41f0", "/sys/bus/pci/devices/0000:29:00.0");
  EXPECT_THAT(names(), ElementsAre("ens41f0"));
  const auto ports = scan_nic_ports(host_, MonoTime::max());
  const auto counters = read_nic_counters(host_, ports.at(0), MonoTime::max());
  EXPECT_EQ(counters.rate_bytes_s, 12.5e9);
  EXPECT_EQ(counters.errors, 3U);
  EXPECT_FALSE(counters.cnp);
}

}  // namespace
}  // namespace autopilot::host::nic_counters_test
