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
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class NetworkIbPort : public ::testing::Test {
 protected:
  NetworkIbPort() { folder_.write("/sys/kernel/x", ""); }

  static std::string path(const std::string& device) { return "/sys/class/infiniband/" + device; }
  void set(const std::string& device, const std::string& file, const std::string& text) {
    folder_.write(path(device) + "/ports/1/" + file, text + "\n");
  }
  void add(const std::string& device, const std::string& rate = "400 Gb/sec (4X NDR)") {
    set(device, "state", "4: ACTIVE");
    set(device, "phys_state", "5: LinkUp");
    set(device, "link_layer", "InfiniBand");
    set(device, "rate", rate);
    set(device, "counters/symbol_error", "0");
    set(device, "counters/link_downed", "0");
    folder_.write(path(device) + "/board_id", "MT_0000000838\n");
  }
  void lose(const std::string& device) {
    set(device, "state", "1: DOWN");
    set(device, "phys_state", "2: Polling");
  }

  std::vector<std::string> reasons(Duration later = 30s) {
    empty_.clock.advance(later);
    const Instant now = empty_.clock.now();
    auto observed = kNetworkIbPort.observe(host_, {.now = now, .deadline = now.mono + 5s});
    EXPECT_TRUE(observed) << observed.error().what;
    history_.add(observed->observations, kNetworkIbPort.info.window);
    std::vector<std::string> words;
    for (const auto& finding : kNetworkIbPort.judge({now, history_, catalog::builtin(), expectation_}))
      words.push_back(to_string(finding.subject) + " " + finding.reason + " " +
                      std::string(to_string(finding.health)));
    return words;
  }

  const host::TestFolder folder_;
  fakes::EmptyHost empty_;
  host::Files files_{folder_.path()};
  host::Host host_{empty_.clock,       files_,          empty_.kernel_log, empty_.gpus,
                   empty_.filesystems, empty_.ethernet, empty_.time_sync,  empty_.nvme};
  History history_;
  Expectation expectation_;
};

TEST_F(NetworkIbPort, is_unsupported_without_a_device_and_failed_when_one_is_expected) {
  EXPECT_THAT(reasons(), ElementsAre("host not_present unsupported"));
  expectation_.expected_interfaces = {"mlx5_0/1", "eno1"};
  EXPECT_THAT(reasons(), ElementsAre("nic_port/mlx5_0/1 interface_missing failed"));
}

TEST_F(NetworkIbPort, active_ports_are_healthy) {
  add("mlx5_0");
  add("mlx5_1");
  EXPECT_THAT(reasons(), IsEmpty());
}

TEST_F(NetworkIbPort, a_port_that_lost_its_link_fails_after_the_time_of_a_training) {
  add("mlx5_0");
  EXPECT_THAT(reasons(), IsEmpty());
  lose("mlx5_0");
  EXPECT_THAT(reasons(10s), IsEmpty());
  EXPECT_THAT(reasons(30s), ElementsAre("nic_port/mlx5_0/1 ib_port_down failed"));
}

TEST_F(NetworkIbPort, a_port_that_never_worked_is_degraded_unless_it_is_expected_or_ignored) {
  add("mlx5_0");
  lose("mlx5_0");
  EXPECT_THAT(reasons(), ElementsAre("nic_port/mlx5_0/1 ib_port_down degraded"));
  expectation_.expected_interfaces = {"mlx5_0/1"};
  EXPECT_THAT(reasons(), ElementsAre("nic_port/mlx5_0/1 ib_port_down failed"));
  expectation_.ignored_interfaces = {"mlx5_0/1"};
  EXPECT_THAT(reasons(), IsEmpty());
}

TEST_F(NetworkIbPort, the_adapter_knows_that_a_port_worked_before_we_looked) {
  add("mlx5_0");
  lose("mlx5_0");
  set("mlx5_0", "counters/link_downed", "1");
  EXPECT_THAT(reasons(), ElementsAre("nic_port/mlx5_0/1 ib_port_down failed"));
}

TEST_F(NetworkIbPort, tells_switched_off_and_waiting_for_the_subnet_manager_apart) {
  add("mlx5_0");
  add("mlx5_1");
  set("mlx5_0", "state", "1: DOWN");
  set("mlx5_0", "phys_state", "3: Disabled");
  set("mlx5_1", "state", "2: INIT");
  EXPECT_THAT(reasons(), ElementsAre("nic_port/mlx5_0/1 ib_port_disabled degraded",
                                     "nic_port/mlx5_1/1 ib_port_initialising degraded"));
}

TEST_F(NetworkIbPort, leaves_the_link_of_roce_ports_to_their_interface) {
  add("mlx5_0");
  lose("mlx5_0");
  set("mlx5_0", "link_layer", "Ethernet");
  EXPECT_THAT(reasons(), IsEmpty());
}

TEST_F(NetworkIbPort, a_port_below_its_siblings_is_degraded_but_two_cannot_say_who_is_right) {
  add("mlx5_0", "200 Gb/sec (2X NDR)");
  add("mlx5_1");
  EXPECT_THAT(reasons(), IsEmpty());
  add("mlx5_2");
  EXPECT_THAT(reasons(), ElementsAre("nic_port/mlx5_0/1 ib_rate_low degraded"));
  folder_.write(path("mlx5_0") + "/board_id", "MT_0000000223\n");  // another adapter by design
  EXPECT_THAT(reasons(), IsEmpty());
}

TEST_F(NetworkIbPort, errors_count_by_their_growth_not_by_their_total) {
  add("mlx5_0");
  set("mlx5_0", "counters/symbol_error", "60000");
  EXPECT_THAT(reasons(), IsEmpty());
  set("mlx5_0", "counters/symbol_error", "60100");
  EXPECT_THAT(reasons(), IsEmpty()) << "fewer than a sound link may show in an hour";
  set("mlx5_0", "counters/symbol_error", "60500");
  EXPECT_THAT(reasons(), ElementsAre("nic_port/mlx5_0/1 ib_errors degraded"));
}

TEST_F(NetworkIbPort, a_counter_that_reached_its_end_counts_up_to_there_and_is_unknown_afterwards) {
  add("mlx5_0");
  set("mlx5_0", "counters/symbol_error", "60000");
  EXPECT_THAT(reasons(), IsEmpty());
  set("mlx5_0", "counters/symbol_error", "65535");
  EXPECT_THAT(reasons(), ElementsAre("nic_port/mlx5_0/1 ib_errors degraded"));
  EXPECT_THAT(reasons(2h), ElementsAre("nic_port/mlx5_0/1 ib_counters_untold unknown"));
  set("mlx5_0", "counters/symbol_error", "0");
  EXPECT_THAT(reasons(), IsEmpty());
  set("mlx5_0", "counters/symbol_error", "165535");  // a wider counter under the same name
  EXPECT_THAT(reasons(), ElementsAre("nic_port/mlx5_0/1 ib_errors degraded"));
}

TEST_F(NetworkIbPort, the_narrowest_counters_count_up_to_their_end_too) {
  add("mlx5_0");
  for (const char* counter : {"counters/local_link_integrity_errors", "counters/link_downed"})
    set("mlx5_0", counter, "0");
  EXPECT_THAT(reasons(), IsEmpty());
  set("mlx5_0", "counters/local_link_integrity_errors", "15");
  set("mlx5_0", "counters/link_downed", "255");
  EXPECT_THAT(reasons(),
              ElementsAre("nic_port/mlx5_0/1 ib_flapping degraded", "nic_port/mlx5_0/1 ib_errors degraded"));
}

TEST_F(NetworkIbPort, a_counter_that_was_full_when_we_came_is_unknown_and_the_port_is_judged_by_its_state) {
  add("mlx5_0");
  set("mlx5_0", "counters/link_downed", "255");
  EXPECT_THAT(reasons(), ElementsAre("nic_port/mlx5_0/1 ib_counters_untold unknown"));
  lose("mlx5_0");
  EXPECT_THAT(reasons(40s), ElementsAre("nic_port/mlx5_0/1 ib_port_down failed",
                                        "nic_port/mlx5_0/1 ib_counters_untold unknown"));
}

TEST_F(NetworkIbPort, counters_that_nobody_may_read_are_unknown) {
  const host::Files locked(folder_.path(), [](std::string_view path) -> Status {
    if (path.find("/counters") == std::string_view::npos) return {};
    return fail(Errc::denied, std::string(path) + ": Permission denied");
  });
  const host::Host host{empty_.clock,       locked,          empty_.kernel_log, empty_.gpus,
                        empty_.filesystems, empty_.ethernet, empty_.time_sync,  empty_.nvme};
  add("mlx5_0");
  const Instant now = empty_.clock.now();
  history_.add(kNetworkIbPort.observe(host, {.now = now, .deadline = now.mono + 5s})->observations, 1h);
  const auto findings = kNetworkIbPort.judge({now, history_, catalog::builtin(), expectation_});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].reason, "ib_counters_untold");
  EXPECT_EQ(findings[0].health, Health::unknown);
  EXPECT_THAT(findings[0].message, ::testing::HasSubstr("counters/symbol_error: Permission denied"));
}

TEST_F(NetworkIbPort, an_infiniband_port_without_counters_is_unknown_and_one_of_roce_is_not) {
  for (const char* device : {"mlx5_0", "mlx5_1"}) {
    add(device);
    std::filesystem::remove_all(folder_.path() + path(device) + "/ports/1/counters");
  }
  set("mlx5_1", "link_layer", "Ethernet");
  EXPECT_THAT(reasons(), ElementsAre("nic_port/mlx5_0/1 ib_counters_untold unknown"));
}

TEST_F(NetworkIbPort, a_device_that_does_not_tell_its_ports_is_unknown_and_hides_no_other) {
  add("mlx5_0");
  add("mlx5_1");
  lose("mlx5_1");
  std::filesystem::remove_all(folder_.path() + path("mlx5_0") + "/ports");
  expectation_.expected_interfaces = {"mlx5_0/1"};
  EXPECT_THAT(reasons(), ElementsAre("nic_port/mlx5_0 could_not_look unknown",
                                     "nic_port/mlx5_1/1 ib_port_down degraded"));
}

TEST_F(NetworkIbPort, an_active_port_whose_physical_link_recovers_or_trains_is_degraded) {
  for (const char* device : {"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"})
    add(device);
  set("mlx5_0", "phys_state", "6: LinkErrorRecovery");
  set("mlx5_1", "phys_state", "2: Polling");
  set("mlx5_2", "phys_state", "4: PortConfigurationTraining");
  set("mlx5_3", "phys_state", "0: <unknown>");
  EXPECT_THAT(reasons(), ElementsAre("nic_port/mlx5_0/1 ib_link_unsteady degraded",
                                     "nic_port/mlx5_1/1 ib_link_unsteady degraded",
                                     "nic_port/mlx5_2/1 ib_link_unsteady degraded"));
  EXPECT_GE(catalog::builtin().reason("ib_link_unsteady")->raise_rounds, 2) << "a moment is no fault";
}

TEST_F(NetworkIbPort, repeated_losses_are_flapping) {
  add("mlx5_0");
  EXPECT_THAT(reasons(), IsEmpty());
  set("mlx5_0", "counters/link_downed", "3");
  EXPECT_THAT(reasons(), ElementsAre("nic_port/mlx5_0/1 ib_flapping degraded"));
}

TEST_F(NetworkIbPort, an_adapter_whose_firmware_complains_is_not_asked_for_counters_but_for_its_state) {
  TestLog log;
  const host::ComplainingAdapters spared(log);
  const host::Host host{empty_.clock,    files_,           log,         empty_.gpus, empty_.filesystems,
                        empty_.ethernet, empty_.time_sync, empty_.nvme, spared};
  add("mlx5_0");
  folder_.write("/sys/devices/pci/0000:d2:00.0/vendor", "0x15b3\n");
  folder_.link(path("mlx5_0") + "/device", "/sys/devices/pci/0000:d2:00.0");
  const Subject port{SubjectKind::nic_port, "mlx5_0/1", {}, "", ""};
  const auto look = [&] {
    const Instant now = empty_.clock.now();
    History history;
    history.add(kNetworkIbPort.observe(host, {.now = now, .deadline = now.mono + 5s})->observations, 1h);
    return history;
  };
  EXPECT_EQ(look().number(port, "counters/symbol_error"), 0);
  log.write(empty_.clock.now(),
            "mlx5_core 0000:d2:00.0: mlx5_cmd_out_err:808:(pid 1): ACCESS_REG(0x805) op_mod(0x1) failed");
  const History spares = look();
  EXPECT_EQ(spares.find(port, "counters/symbol_error")->missing, "spared");
  EXPECT_EQ(spares.find(port, "counters/link_downed"), nullptr);
  EXPECT_EQ(spares.word(port, "state"), "active");
}

TEST_F(NetworkIbPort, a_port_that_was_faster_once_is_degraded_without_siblings_too) {
  add("mlx5_0", "200 Gb/sec (2X NDR)");
  empty_.clock.advance(30s);
  const Instant now = empty_.clock.now();
  auto observed = kNetworkIbPort.observe(host_, {.now = now, .deadline = now.mono + 5s});
  Observation best = *std::ranges::find(observed->observations, "rate", &Observation::name);
  best.name = "rate.largest";
  best.value = 400.0;
  observed->observations.push_back(best);
  history_.add(observed->observations, 1h);
  const auto findings = kNetworkIbPort.judge({now, history_, catalog::builtin(), expectation_});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].message, "mlx5_0/1 runs at 200 Gb/s, but ran at 400 Gb/s since the machine started");
  EXPECT_THAT(kNetworkIbPort.info.baselines, ElementsAre("rate"));
}

TEST_F(NetworkIbPort, a_port_that_does_not_tell_its_state_is_unknown_and_hides_no_other) {
  add("mlx5_0");
  add("mlx5_1");
  set("mlx5_0", "state", "\x01garbage");
  set("mlx5_1", "state", "1: DOWN");
  EXPECT_THAT(reasons(), ElementsAre("nic_port/mlx5_0/1 could_not_look unknown",
                                     "nic_port/mlx5_1/1 ib_port_down degraded"));
  expectation_.ignored_interfaces = {"mlx5_0/1", "mlx5_1/1"};
  EXPECT_THAT(reasons(), IsEmpty());
}

TEST_F(NetworkIbPort, passes_on_why_it_cannot_look) {
  const host::Files nowhere("/nonexistent");
  const host::Host host{empty_.clock,       nowhere,         empty_.kernel_log, empty_.gpus,
                        empty_.filesystems, empty_.ethernet, empty_.time_sync,  empty_.nvme};
  const Instant now = empty_.clock.now();
  EXPECT_EQ(kNetworkIbPort.observe(host, {.now = now, .deadline = now.mono}).error().code, Errc::unavailable);
}

}  // namespace
}  // namespace autopilot::checks
