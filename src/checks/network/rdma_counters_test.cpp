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

// Both checks read counters of ports in one way.
class PortCounters : public ::testing::Test {
 protected:
  PortCounters() { folder_.write("/sys/kernel/x", ""); }

  static std::string path(const std::string& device) { return "/sys/class/infiniband/" + device; }
  void set(const std::string& device, const std::string& file, const std::string& text) {
    folder_.write(path(device) + "/ports/1/" + file, text + "\n");
  }
  void add(const std::string& device, const std::string& address) {
    set(device, "state", "4: ACTIVE");
    set(device, "link_layer", "Ethernet");
    folder_.write("/sys/devices/pci/" + address + "/vendor", "0x15b3\n");
    folder_.link(path(device) + "/device", "/sys/devices/pci/" + address);
  }
  void say(const std::string& text, int facility = 0) {
    log_.write(empty_.clock.now(), text, [&](host::KernelRecord& record) { record.facility = facility; });
  }
  Findings look(const Check& check, Duration later = 60s) {
    empty_.clock.advance(later);
    const Instant now = empty_.clock.now();
    auto observed = check.observe(host_, {.now = now, .deadline = now.mono + 5s});
    if (!observed) {
      error_ = observed.error().code;
      return {};
    }
    history_.add(observed->observations, check.info.window);
    return check.judge({now, history_, catalog::builtin(), expectation_});
  }
  std::vector<std::string> words(const Check& check, Duration later = 60s) {
    std::vector<std::string> list;
    for (const Finding& finding : look(check, later))
      list.push_back(finding.subject.key + " " + std::string(to_string(finding.health)) + " " +
                     finding.reason);
    return list;
  }

  const host::TestFolder folder_;
  fakes::EmptyHost empty_;
  host::Files files_{folder_.path()};
  TestLog log_;
  host::ComplainingAdapters spared_{log_};
  host::Host host_{empty_.clock,    files_,           log_,        empty_.gpus, empty_.filesystems,
                   empty_.ethernet, empty_.time_sync, empty_.nvme, spared_};
  History history_;
  Expectation expectation_;
  std::optional<Errc> error_;
};

using NetworkRdmaCounters = PortCounters;
using NetworkEfa = PortCounters;

TEST_F(NetworkRdmaCounters, count_by_their_rate) {
  add("mlx5_0", "0000:18:00.0");
  set("mlx5_0", "hw_counters/local_ack_timeout_err", "1000000");
  set("mlx5_0", "hw_counters/rnr_nak_retry_err", "7");
  EXPECT_THAT(words(kNetworkRdmaCounters), IsEmpty());
  EXPECT_THAT(words(kNetworkRdmaCounters), IsEmpty());
  set("mlx5_0", "hw_counters/local_ack_timeout_err", "1000300");
  const Findings findings = look(kNetworkRdmaCounters);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].reason, "rdma_errors");
  EXPECT_EQ(findings[0].health, Health::degraded);
  EXPECT_THAT(findings[0].message, HasSubstr("mlx5_0/1: local_ack_timeout_err grows by 2.5 per_second"));
  expectation_.ignored_interfaces = {"mlx5_0/1"};
  EXPECT_THAT(words(kNetworkRdmaCounters), IsEmpty());
}

TEST_F(NetworkRdmaCounters, of_a_device_that_does_not_tell_its_ports_are_unknown) {
  add("mlx5_0", "0000:18:00.0");
  set("mlx5_0", "hw_counters/local_ack_timeout_err", "0");
  folder_.write(path("mlx5_1") + "/board_id", "MT_1\n");
  EXPECT_THAT(words(kNetworkRdmaCounters), ElementsAre("mlx5_1 unknown could_not_look"));
}

TEST_F(NetworkRdmaCounters, of_an_adapter_that_complains_are_unknown_and_not_read_again) {
  add("mlx5_0", "0000:18:00.0");
  add("mlx5_1", "0000:d2:00.0");
  for (const char* device : {"mlx5_0", "mlx5_1"})
    set(device, "hw_counters/out_of_sequence", "0");
  EXPECT_THAT(words(kNetworkRdmaCounters), IsEmpty());
  say("mlx5_core 0000:d2:00.0: mlx5_cmd_out_err:808:(pid 1): ACCESS_REG(0x805) op_mod(0x1) failed");
  EXPECT_THAT(words(kNetworkRdmaCounters), ElementsAre("mlx5_1/1 unknown could_not_look"));
  EXPECT_THAT(look(kNetworkRdmaCounters)[0].message,
              HasSubstr("logs an error for each read of its counters"));
}

TEST_F(NetworkRdmaCounters, of_virtual_functions_and_of_efa_are_not_asked_here) {
  add("efa_0", "0000:00:1d.0");
  set("efa_0", "hw_counters/rx_drops", "0");
  EXPECT_THAT(words(kNetworkRdmaCounters), IsEmpty());
  EXPECT_EQ(error_, Errc::unsupported);
  error_.reset();
  add("mlx5_2", "0000:18:00.2");
  folder_.write("/sys/devices/pci/0000:18:00.2/physfn/x", "");
  look(kNetworkRdmaCounters);
  EXPECT_EQ(error_, Errc::unsupported);
}

TEST_F(NetworkEfa, is_unsupported_without_a_device) {
  add("mlx5_0", "0000:18:00.0");
  EXPECT_THAT(words(kNetworkEfa), IsEmpty());
  EXPECT_EQ(error_, Errc::unsupported);
}

TEST_F(NetworkEfa, is_judged_by_state_and_by_what_is_sent_again) {
  add("efa_0", "0000:00:1d.0");
  set("efa_0", "hw_counters/retrans_bytes", "5000000000");
  set("efa_0", "hw_counters/rx_drops", "1000");
  EXPECT_THAT(words(kNetworkEfa), IsEmpty());
  set("efa_0", "hw_counters/rx_drops", "6000");  // 83 a second
  EXPECT_THAT(words(kNetworkEfa), IsEmpty());
  set("efa_0", "hw_counters/retrans_bytes", "5400000000");
  EXPECT_THAT(look(kNetworkEfa).at(0).message, HasSubstr("retrans_bytes grows by 3333333.3 per second"));
  set("efa_0", "state", "1: DOWN");
  EXPECT_THAT(words(kNetworkEfa, 10min), ElementsAre("efa_0/1 failed efa_port_down"));
  set("efa_0", "state", "\x02");
  EXPECT_THAT(words(kNetworkEfa), ElementsAre("efa_0/1 unknown could_not_look"));
}

}  // namespace
}  // namespace autopilot::checks
