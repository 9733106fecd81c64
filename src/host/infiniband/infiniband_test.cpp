// SPDX-License-Identifier: Apache-2.0
#include "host/infiniband/infiniband.hpp"

#include <gtest/gtest.h>
#include <string>

#include "tests/fakes/fake_host.hpp"
#include "tests/support/checks/test_log.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::host {
namespace {

class InfinibandTest : public testing::Test {
 protected:
  void add_port(const std::string& device, int number, const std::string& state) {
    const std::string port = "/sys/class/infiniband/" + device + "/ports/" + std::to_string(number);
    folder_.write(port + "/state", state);
    folder_.write(port + "/phys_state", "5: LinkUp\n");
    folder_.write(port + "/rate", "400 Gb/sec (4X NDR)\n");
    folder_.write(port + "/link_layer", "InfiniBand\n");
    folder_.write("/sys/class/infiniband/" + device + "/board_id", "MT_0000000838\n");
  }

  const TestFolder folder_;
  const Files files_{folder_.path()};
};

TEST_F(InfinibandTest, reads_every_port_in_order) {
  add_port("mlx5_1", 1, "4: ACTIVE\n");
  add_port("mlx5_0", 10, "1: DOWN\n");
  add_port("mlx5_0", 2, "2: INIT\n");
  const auto ports = scan_ib_ports(files_);
  ASSERT_TRUE(ports) << ports.error().what;
  ASSERT_EQ(ports->size(), 3U);
  EXPECT_EQ((*ports)[0].key(), "mlx5_0/2");
  EXPECT_EQ((*ports)[0].state, "init");
  EXPECT_EQ((*ports)[1].key(), "mlx5_0/10");
  EXPECT_EQ((*ports)[2].state, "active");
  EXPECT_EQ((*ports)[2].physical_state, "linkup");
  EXPECT_EQ((*ports)[2].rate_gbps, 400);
  EXPECT_EQ((*ports)[2].adapter, "MT_0000000838");
  EXPECT_FALSE((*ports)[2].is_virtual_function);
}

TEST_F(InfinibandTest, tells_no_device_from_no_sysfs) {
  EXPECT_EQ(scan_ib_ports(files_).error().code, Errc::unavailable);
  folder_.write("/sys/kernel/x", "");
  const auto none = scan_ib_ports(files_);
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->empty());
}

TEST_F(InfinibandTest, names_the_file_it_does_not_understand_and_reads_the_other_ports) {
  add_port("mlx5_0", 1, "garbage\n");
  add_port("mlx5_1", 1, "4: ACTIVE\n");
  const auto ports = scan_ib_ports(files_);
  ASSERT_TRUE(ports) << ports.error().what;
  ASSERT_EQ(ports->size(), 2U);
  ASSERT_TRUE(ports->front().problem);
  EXPECT_EQ(ports->front().problem->code, Errc::malformed);
  EXPECT_NE(ports->front().problem->what.find("mlx5_0/ports/1/state"), std::string::npos);
  EXPECT_FALSE(ports->back().problem);
}

TEST_F(InfinibandTest, a_device_that_does_not_tell_its_ports_is_listed_with_its_problem) {
  add_port("mlx5_0", 1, "4: ACTIVE\n");
  folder_.write("/sys/class/infiniband/mlx5_1/board_id", "MT_1\n");
  folder_.write("/sys/class/infiniband/mlx5_2/ports/none", "");
  const auto ports = scan_ib_ports(files_);
  ASSERT_TRUE(ports) << ports.error().what;
  ASSERT_EQ(ports->size(), 3U);
  EXPECT_EQ((*ports)[0].key(), "mlx5_0/1");
  for (std::size_t i : {1U, 2U}) {
    EXPECT_EQ((*ports)[i].key(), "mlx5_" + std::to_string(i));
    ASSERT_TRUE((*ports)[i].problem);
    EXPECT_NE((*ports)[i].problem->what.find("/ports"), std::string::npos);
  }
}

TEST_F(InfinibandTest, tells_the_interface_of_the_same_line) {
  const std::string device = "/sys/class/infiniband/mlx5_0";
  add_port("mlx5_0", 1, "4: ACTIVE\n");
  add_port("mlx5_0", 2, "4: ACTIVE\n");
  folder_.write(device + "/device/net/ib0/dev_port", "0\n");
  folder_.write(device + "/device/net/ib0.8001/dev_port", "0\n");
  folder_.write(device + "/device/net/ib1/dev_port", "1\n");
  const auto ports = scan_ib_ports(files_);
  ASSERT_TRUE(ports) << ports.error().what;
  ASSERT_EQ(ports->size(), 2U);
  EXPECT_EQ(interface_of(files_, ports->front()), "ib0");
  EXPECT_EQ(interface_of(files_, ports->back()), "ib1");
  folder_.write("/sys/class/net/bond0/mtu", "9000\n");
  folder_.link(device + "/device/net/ib1/master", "../../../../../net/bond0");
  EXPECT_EQ(interface_of(files_, ports->back()), "bond0");
  add_port("mlx5_1", 1, "4: ACTIVE\n");
  EXPECT_EQ(interface_of(files_, scan_ib_ports(files_).value().back()), "");
}

TEST_F(InfinibandTest, tells_efa_by_its_driver_or_its_name) {
  for (const char* device : {"efa_0", "mlx5_0", "rdmap16s27"})
    add_port(device, 1, "4: ACTIVE\n");
  folder_.write("/sys/bus/pci/drivers/efa/x", "");
  folder_.link("/sys/class/infiniband/rdmap16s27/device/driver", "/sys/bus/pci/drivers/efa");
  const auto ports = scan_ib_ports(files_).value();
  ASSERT_EQ(ports.size(), 3U);
  EXPECT_TRUE(ports[0].is_efa());
  EXPECT_FALSE(ports[1].is_efa());
  EXPECT_TRUE(ports[2].is_efa());
  const auto wanted = scan_ib_ports(files_, [](const IbPort& port) { return port.is_efa(); }).value();
  ASSERT_EQ(wanted.size(), 2U);
  EXPECT_EQ(wanted[1].key(), "rdmap16s27/1");
  EXPECT_EQ(wanted[1].state, "active");
}

TEST_F(InfinibandTest, reads_counters_and_says_which_are_not_there) {
  add_port("mlx5_0", 1, "4: ACTIVE\n");
  folder_.write("/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error", "65535\n");
  folder_.write("/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_errors", "N/A (no PMA)\n");
  const IbPort port = scan_ib_ports(files_)->front();
  EXPECT_EQ(read_ib_counter(files_, port, "counters/symbol_error").value(), 65535U);
  EXPECT_EQ(read_ib_counter(files_, port, "hw_counters/none").error().code, Errc::not_found);
  EXPECT_EQ(read_ib_counter(files_, port, "counters/port_rcv_errors").error().code, Errc::malformed);
}

TEST(ParseIb, refuses_what_is_no_state_or_rate) {
  for (const char* text : {"", "ACTIVE", "4:", "4: ", "x: ACTIVE", "-1: DOWN"})
    EXPECT_FALSE(parse_ib_state(text)) << text;
  for (const char* text : {"", "400", "400 Mb/sec", "x Gb/sec", "-1 Gb/sec", "inf Gb/sec", "nan Gb/sec"})
    EXPECT_FALSE(parse_ib_rate(text)) << text;
  EXPECT_EQ(parse_ib_state("5: ACTIVE_DEFER"), "active_defer");
  EXPECT_EQ(parse_ib_rate("2.5 Gb/sec (1X SDR)"), 2.5);
}

// The machine that runs the test.
TEST(InfinibandOfThisMachine, can_be_asked) {
  const Files files;
  const auto ports = scan_ib_ports(files);
  if (!ports) GTEST_SKIP() << ports.error().what;
  if (ports->empty()) GTEST_SKIP() << "no RDMA device here";
  for (const auto& port : *ports)
    EXPECT_FALSE(port.state.empty()) << port.key() << ": " << port.problem.value_or(Error{}).what;
}

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

constexpr const char* kComplaint =
    "mlx5_core 0000:d2:00.0: mlx5_cmd_out_err:808:(pid 4242): ACCESS_REG(0x805) op_mod(0x1) failed, status "
    "bad "
    "operation(0x2), syndrome (0x305684), err(-22)";

TEST(ComplainingAdapters, are_spared_from_their_first_complaint_on) {
  checks::TestLog log;
  const ComplainingAdapters spared(log);
  EXPECT_FALSE(spared.is_spared("0000:d2:00.0", {}));
  log.write({}, kComplaint);
  EXPECT_TRUE(spared.is_spared("0000:d2:00.0", {}));
  EXPECT_FALSE(spared.is_spared("0000:18:00.0", {}));
  log.refuse();
  EXPECT_TRUE(spared.is_spared("0000:d2:00.0", {}));
}

TEST(ComplainingAdapters, are_not_made_by_user_space_nor_by_other_lines) {
  checks::TestLog log;
  const ComplainingAdapters spared(log);
  log.write({}, kComplaint, [](KernelRecord& record) { record.facility = 1; });
  log.write({}, "mlx5_core 0000:d2:00.0: mlx5_cmd_out_err:808:(pid 1): QUERY_HCA_CAP(0x100) failed");
  log.write({}, "mlx5_core: ACCESS_REG failed mlx5_cmd mlx5_core");
  EXPECT_FALSE(spared.is_spared("0000:d2:00.0", {}));
  EXPECT_FALSE(spared.is_spared("", {}));
}

TEST(ComplainingAdapters, have_a_limit) {
  checks::TestLog log;
  const ComplainingAdapters spared(log);
  const auto address = [](std::size_t i) {
    const std::string hex = "0123456789abcdef";
    return std::string("000") + hex[i / 256] + ":" + hex[i / 16 % 16] + hex[i % 16] + ":00.0";
  };
  for (std::size_t i = 0; i < ComplainingAdapters::kMaxAdapters + 5; ++i)
    log.write({}, "mlx5_core " + address(i) + ": mlx5_cmd_out_err: ACCESS_REG(0x805) failed");
  EXPECT_TRUE(spared.is_spared(address(ComplainingAdapters::kMaxAdapters - 1), {}));
  EXPECT_FALSE(spared.is_spared(address(ComplainingAdapters::kMaxAdapters), {}));
}

TEST(ComplainingAdapters, are_unknown_without_the_log) {
  const fakes::EmptyHost empty;
  EXPECT_FALSE(ComplainingAdapters(empty.kernel_log).is_spared("0000:d2:00.0", {}));
}

}  // namespace
}  // namespace autopilot::host
