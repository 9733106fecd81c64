// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/builtin.hpp"
#include "tests/fakes/fake_host.hpp"
#include "tests/support/checks/test_log.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::checks {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class NetworkAdapter : public ::testing::Test {
 protected:
  NetworkAdapter() {
    add("0000:18:00.0");
    folder_.write("/sys/bus/pci/devices/0000:18:00.0/infiniband/mlx5_0/ports/1/link_layer", "InfiniBand\n");
    folder_.link("/sys/class/infiniband/mlx5_0", "/sys/bus/pci/devices/0000:18:00.0/infiniband/mlx5_0");
  }
  void add(const std::string& address) const {
    folder_.write("/sys/bus/pci/drivers/mlx5_core/" + address + "/vendor", "0x15b3\n");
  }
  void say(const std::string& text, int facility = 0) {
    log_.write(empty_.clock.now(), text, [&](host::KernelRecord& record) { record.facility = facility; });
  }
  void mlx5(const std::string& text) { say("mlx5_core 0000:18:00.0: " + text); }
  Findings look(Duration later = 5min) {
    empty_.clock.advance(later);
    const Instant now = empty_.clock.now();
    auto observed = kNetworkAdapter.observe(
        host_, {.now = now, .deadline = now.mono + 5s, .kernel_log_from = next_record_});
    if (!observed) {
      ADD_FAILURE() << observed.error().what;
      return {};
    }
    next_record_ = observed->kernel_log_next.value_or(0);
    history_.add(std::move(observed->observations), kNetworkAdapter.info.window);
    return kNetworkAdapter.judge({now, history_, catalog::builtin(), expectation_});
  }
  std::vector<std::string> words(Duration later = 5min) {
    std::vector<std::string> list;
    for (const Finding& finding : look(later))
      list.push_back(finding.subject.key + " " + std::string(to_string(finding.health)) + " " +
                     finding.reason);
    return list;
  }

  host::TestFolder folder_;
  fakes::EmptyHost empty_;
  host::Files files_{folder_.path()};
  TestLog log_;
  host::Host host_{empty_.clock,    files_,           log_,       empty_.gpus, empty_.filesystems,
                   empty_.ethernet, empty_.time_sync, empty_.nvme};
  History history_;
  Expectation expectation_;
  std::uint64_t next_record_ = 0;
};

TEST_F(NetworkAdapter, a_fault_of_the_firmware_fails_it_until_the_driver_brought_it_back) {
  EXPECT_THAT(words(), IsEmpty());
  mlx5("poll_health:824:(pid 0): Fatal error 1 detected");
  EXPECT_THAT(words(), ElementsAre("0000:18:00.0 failed adapter_failed"));
  EXPECT_THAT(words(3h), ElementsAre("0000:18:00.0 failed adapter_failed"));
  mlx5("mlx5_health_try_recover:353:(pid 4242): health recovery succeeded");
  EXPECT_THAT(words(), ElementsAre("0000:18:00.0 degraded adapter_recovered"));
  EXPECT_THAT(words(1h), IsEmpty());
}

TEST_F(NetworkAdapter, a_virtual_function_that_was_taken_away_is_no_fault) {
  add("0000:18:01.3");
  say("mlx5_core 0000:18:01.3: poll_health:824:(pid 0): Fatal error 1 detected");
  EXPECT_THAT(words(), ElementsAre("0000:18:01.3 failed adapter_failed"));
  std::filesystem::remove_all(folder_.path() + "/sys/bus/pci/drivers/mlx5_core/0000:18:01.3");
  EXPECT_THAT(words(), IsEmpty());
}

TEST_F(NetworkAdapter, one_that_its_driver_could_not_start_fails_until_the_driver_has_it) {
  say("mlx5_core: probe of 0000:2a:00.0 failed with error -16");
  say("mlx5_core: probe of 0000:2a:00.0 failed with error -16", 1);
  say("igb: probe of 0000:01:00.0 failed with error -2");
  EXPECT_THAT(words(),
              ElementsAre("0000:01:00.0 degraded adapter_failed", "0000:2a:00.0 failed adapter_failed"));
  add("0000:2a:00.0");
  EXPECT_THAT(words(), ElementsAre("0000:01:00.0 degraded adapter_failed"));
}

TEST_F(NetworkAdapter, a_virtual_function_that_does_not_start_is_no_fault) {
  folder_.write("/sys/bus/pci/devices/0000:18:01.3/physfn/vendor", "0x15b3\n");
  say("mlx5_core: probe of 0000:18:01.3 failed with error -16");
  EXPECT_THAT(words(), IsEmpty());
}

TEST_F(NetworkAdapter, heat_is_told_also_of_one_that_is_lost_since) {
  mlx5("temp_warn:170:(pid 0): High temperature on sensors with bit set 0 1");
  say("mlx5_core 0000:41:00.0: print_health_info:421:(pid 0): synd 0x10: High temperature");
  say("bnxt_en 0000:5e:00.0 eno1: Chip temperature has gone above the warning thermal threshold!");
  EXPECT_THAT(words(), ElementsAre("0000:18:00.0 degraded adapter_hot", "0000:41:00.0 degraded adapter_hot",
                                   "0000:5e:00.0 degraded adapter_hot"));
  say("bnxt_en 0000:5e:00.0 eno1: Chip temperature has gone below the warning thermal threshold!");
  EXPECT_THAT(words(), ElementsAre("0000:18:00.0 degraded adapter_hot", "0000:41:00.0 degraded adapter_hot"));
  EXPECT_THAT(words(1h), IsEmpty());
}

class DriverlessAdapter : public NetworkAdapter {
 protected:
  void add_to_tree(const std::string& address, const char* kind, const char* device,
                   const char* lanes) const {
    const std::string path = "/sys/bus/pci/devices/" + address;
    folder_.write(path + "/class", std::string(kind) + "\n");
    folder_.write(path + "/vendor", "0x8086\n");
    folder_.write(path + "/device", std::string(device) + "\n");
    folder_.write(path + "/max_link_width", std::string(lanes) + "\n");
  }
  void bind(const std::string& address, const std::string& driver) const {
    folder_.write("/sys/bus/pci/drivers/" + driver + "/uevent", "");
    folder_.link("/sys/bus/pci/devices/" + address + "/driver", "/sys/bus/pci/drivers/" + driver);
  }
};

TEST_F(DriverlessAdapter,
       is_unknown_where_nobody_knows_whether_it_is_needed_and_degraded_beside_its_siblings) {
  add_to_tree("0000:2a:00.0", "0x020000", "0x1592", "16");
  add_to_tree("0000:3a:00.0", "0x020700", "0x1021", "8");
  EXPECT_THAT(words(), ElementsAre("0000:2a:00.0 unknown adapter_without_driver",
                                   "0000:3a:00.0 unknown adapter_without_driver"));
  add_to_tree("0000:2a:00.1", "0x020000", "0x1592", "16");
  bind("0000:2a:00.1", "ice");
  EXPECT_THAT(words(), ElementsAre("0000:2a:00.0 degraded adapter_without_driver",
                                   "0000:3a:00.0 unknown adapter_without_driver"));
  say("ice: probe of 0000:2a:00.0 failed with error -5");
  EXPECT_THAT(words(), ElementsAre("0000:2a:00.0 failed adapter_failed",
                                   "0000:3a:00.0 unknown adapter_without_driver"));
}

TEST_F(DriverlessAdapter, has_no_sibling_in_one_that_is_given_to_guests) {
  add_to_tree("0000:2a:00.0", "0x020000", "0x1572", "8");
  add_to_tree("0000:2a:00.1", "0x020000", "0x1572", "8");
  bind("0000:2a:00.1", "vfio-pci");
  EXPECT_THAT(words(), IsEmpty());
}

TEST_F(DriverlessAdapter, is_nothing_where_it_is_small_virtual_or_kept_for_guests) {
  add_to_tree("0000:01:00.0", "0x020000", "0x1521", "4");
  add_to_tree("0000:2a:00.0", "0x020000", "0x1592", "16");
  folder_.write("/sys/bus/pci/devices/0000:2a:00.0/driver_override", "vfio-pci\n");
  add_to_tree("0000:2b:00.0", "0x020000", "0x1592", "16");
  bind("0000:2b:00.0", "vfio-pci");
  add_to_tree("0000:2c:01.0", "0x020000", "0x1592", "16");
  folder_.write("/sys/bus/pci/devices/0000:2c:01.0/physfn/vendor", "0x8086\n");
  EXPECT_THAT(words(), IsEmpty());
}

class AdapterWithoutRdma : public NetworkAdapter {
 protected:
  AdapterWithoutRdma() {
    add("0000:2a:00.0");
    folder_.write(kDevice + "/net/ens42f0np0/operstate", "up\n");
    folder_.link(kDevice + "/driver", "/sys/bus/pci/drivers/mlx5_core");
    folder_.write("/sys/module/mlx5_ib/refcnt", "0\n");
  }
  void set_class(const char* code) const { folder_.write(kDevice + "/class", std::string(code) + "\n"); }
  void add_part() const {
    folder_.write(kDevice + "/mlx5_core.rdma.2/uevent", "");
    folder_.link("/sys/bus/auxiliary/devices/mlx5_core.rdma.2", kDevice + "/mlx5_core.rdma.2");
  }

  const std::string kDevice = "/sys/bus/pci/devices/0000:2a:00.0";
};

TEST_F(AdapterWithoutRdma, is_degraded_where_its_driver_did_not_start_it) {
  add_part();
  EXPECT_THAT(words(), ElementsAre("0000:2a:00.0 degraded adapter_without_rdma"));
  EXPECT_THAT(look()[0].message, HasSubstr("mlx5_ib is loaded, but did not start its RDMA device"));
  say("mlx5_ib.rdma: probe of mlx5_core.rdma.2 failed with error -12");
  EXPECT_THAT(words(), ElementsAre("0000:2a:00.0 degraded adapter_failed"));
}

TEST_F(AdapterWithoutRdma, is_nothing_where_it_is_in_a_container_or_an_adapter_of_a_bond_or_ignored) {
  set_class("0x020700");
  add_part();
  folder_.write(kDevice + "/mlx5_core.rdma.2/driver/uevent", "");
  EXPECT_THAT(words(), IsEmpty());
  std::filesystem::remove_all(folder_.path() + kDevice + "/mlx5_core.rdma.2");
  set_class("0x020000");
  EXPECT_THAT(words(), IsEmpty());
  folder_.write(kDevice + "/mlx5_core.rdma.2/uevent", "");
  EXPECT_THAT(words(), ElementsAre("0000:2a:00.0 degraded adapter_without_rdma"));
  expectation_.ignored_interfaces = {"ens42f0np0"};
  EXPECT_THAT(words(), IsEmpty());
}

TEST_F(AdapterWithoutRdma, that_speaks_infiniband_needs_the_driver_and_one_of_ethernet_does_not) {
  std::filesystem::remove_all(folder_.path() + "/sys/module/mlx5_ib");
  set_class("0x020000");
  EXPECT_THAT(words(), IsEmpty());
  set_class("0x020700");
  EXPECT_THAT(words(), ElementsAre("0000:2a:00.0 degraded adapter_without_rdma"));
}

TEST_F(AdapterWithoutRdma, is_unknown_where_an_old_kernel_does_not_say_why) {
  set_class("0x020700");
  EXPECT_THAT(words(), ElementsAre("0000:2a:00.0 unknown adapter_without_rdma"));
  folder_.write("/sys/bus/pci/devices/0000:2a:00.0/physfn/vendor", "0x15b3\n");
  EXPECT_THAT(words(), IsEmpty());
}

TEST_F(NetworkAdapter, what_it_had_to_wait_for_is_degraded_for_an_hour) {
  mlx5("wait_func:1137:(pid 4242): QUERY_HCA_CAP(0x100) timeout. Will cause a leak of a command resource");
  say("NETDEV WATCHDOG: eth0 (bnxt_en): transmit queue 5 timed out");
  EXPECT_THAT(words(), ElementsAre("0000:18:00.0 degraded adapter_late", "eth0 degraded adapter_late"));
  EXPECT_THAT(words(1h), IsEmpty());
}

TEST_F(NetworkAdapter, power_heat_and_cables) {
  mlx5("mlx5_pcie_event:301:(pid 4242): Detected insufficient power on the PCIe slot (27W).");
  mlx5("Port module event[error]: module 0, Cable error, High Temperature");
  mlx5("Port module event[error]: module 0, Cable error, Bus stuck");
  EXPECT_THAT(words(), ElementsAre("0000:18:00.0 degraded adapter_power_low",
                                   "0000:18:00.0 degraded cable_error", "0000:18:00.0 degraded module_hot"));
  EXPECT_THAT(words(2h),
              ElementsAre("0000:18:00.0 degraded adapter_power_low", "0000:18:00.0 degraded cable_error"));
}

TEST_F(NetworkAdapter, another_cable_ends_cable_and_heat_and_enough_power_ends_too_little) {
  mlx5("Port module event[error]: module 0, Cable error, High Temperature");
  mlx5("Port module event[error]: module 0, Cable error, Bus stuck");
  mlx5("mlx5_pcie_event:299:(pid 4242): Detected insufficient power on the PCIe slot (27W).");
  mlx5("Port module event: module 0, Cable plugged");
  EXPECT_THAT(words(), ElementsAre("0000:18:00.0 degraded adapter_power_low"));
  mlx5("mlx5_pcie_event:304:(pid 4242): PCIe slot advertised sufficient power (27W).");
  EXPECT_THAT(words(), IsEmpty());
}

TEST_F(NetworkAdapter, three_long_losses_of_a_link_in_half_a_day_are_flapping) {
  const auto flap = [&](Duration down) {
    say("mlx5_core 0000:18:00.0 ibp24s0: Link down");
    empty_.clock.advance(down);
    say("mlx5_core 0000:18:00.0 ibp24s0: Link up");
    empty_.clock.advance(1h);
  };
  flap(30s);
  flap(60s);
  for (int i = 0; i < 5; ++i)
    flap(5s);  // a restart of the driver, or of the switch port
  EXPECT_THAT(words(), IsEmpty());
  flap(2min);
  EXPECT_THAT(words(), ElementsAre("mlx5_0/1 degraded link_flapping"));
  EXPECT_THAT(look()[0].message, HasSubstr("more than 25 s and regained it 3 times in 12h"));
  expectation_.ignored_interfaces = {"mlx5_0/1"};
  EXPECT_THAT(words(), IsEmpty());
  expectation_.ignored_interfaces = {};
  EXPECT_THAT(words(6h), IsEmpty());
}

class FlappingLink : public NetworkAdapter {
 protected:
  void flap(int times, Duration down) {
    for (int i = 0; i < times; ++i) {
      say("mlx5_core 0000:18:00.0 ibp24s0: Link down");
      empty_.clock.advance(down);
      say("mlx5_core 0000:18:00.0 ibp24s0: Link up");
      empty_.clock.advance(2s);
    }
  }
};

TEST_F(FlappingLink, a_thousand_short_bounces_do_not_hide_the_long_losses) {
  mlx5("poll_health:824:(pid 0): Fatal error 1 detected");
  flap(5, 40s);
  flap(1000, 2s);
  EXPECT_THAT(words(), ElementsAre("0000:18:00.0 failed adapter_failed", "mlx5_0/1 degraded link_flapping"));
  EXPECT_THAT(look()[1].message, HasSubstr("regained it 5 times"));
}

TEST_F(FlappingLink, thirty_long_losses_are_told_as_thirty) {
  flap(30, 40s);
  EXPECT_THAT(look().at(0).message, HasSubstr("regained it 30 times"));
}

TEST_F(FlappingLink, a_loss_that_spans_two_looks_counts) {
  flap(2, 40s);
  flap(100, 2s);
  say("mlx5_core 0000:18:00.0 ibp24s0: Link down");
  EXPECT_THAT(words(), IsEmpty());
  say("mlx5_core 0000:18:00.0 ibp24s0: Link up");
  flap(100, 2s);
  EXPECT_THAT(words(), ElementsAre("mlx5_0/1 degraded link_flapping"));
}

TEST_F(FlappingLink, of_more_links_than_anybody_has_some_are_left_out_and_counted) {
  for (int i = 0; i < 70; ++i)
    say("bnxt_en 0000:18:00.0 eth" + std::to_string(i) + ": NIC Link is Down");
  const Instant now = empty_.clock.now();
  folder_.write("/sys/bus/pci/devices/0000:18:00.0/infiniband/mlx5_0/ports/1/link_layer", "Ethernet\n");
  const auto observed = kNetworkAdapter.observe(host_, {.now = now, .deadline = now.mono + 5s});
  EXPECT_EQ(std::ranges::count(observed->observations, "network.link", &Observation::name), 64);
  EXPECT_EQ(observed->records_dropped, 6U);
}

TEST_F(NetworkAdapter, a_link_that_is_still_down_and_one_that_is_said_twice_are_no_flaps) {
  for (int i = 0; i < 6; ++i) {
    say("mlx5_core 0000:18:00.0 ibp24s0: Link down");
    empty_.clock.advance(1min);
  }
  EXPECT_THAT(words(), IsEmpty());
}

TEST_F(NetworkAdapter, of_a_port_that_is_ignored_are_ignored_too) {
  mlx5("poll_health:824:(pid 0): Fatal error 1 detected");
  const Findings findings = look();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(*find_attribute(findings[0].evidence, "port"), Value{std::string("mlx5_0/1")});
  expectation_.ignored_interfaces = {"mlx5_0/1"};
  EXPECT_THAT(words(), IsEmpty());
}

TEST_F(NetworkAdapter, lines_of_user_space_do_not_count) {
  say("mlx5_core 0000:18:00.0: poll_health:824:(pid 0): Fatal error 1 detected", 1);
  EXPECT_THAT(words(), IsEmpty());
}

TEST_F(NetworkAdapter, without_the_log_is_unknown) {
  const host::Host deaf{empty_.clock,       files_,          empty_.kernel_log, empty_.gpus,
                        empty_.filesystems, empty_.ethernet, empty_.time_sync,  empty_.nvme};
  const Instant now = empty_.clock.now();
  EXPECT_EQ(kNetworkAdapter.observe(deaf, {.now = now, .deadline = now.mono + 5s}).error().code,
            Errc::denied);
}

}  // namespace
}  // namespace autopilot::checks
