// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/builtin.hpp"
#include "tests/fakes/fake_host.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::checks {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class NetworkReachability : public ::testing::Test {
 protected:
  NetworkReachability() {
    set_routes(true);
    folder_.write("/etc/resolv.conf", "nameserver 192.0.2.53\nnameserver 198.51.100.53\n");
  }
  void set_routes(bool has_default) const {
    folder_.write(
        "/proc/net/route",
        std::string("Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n") +
            (has_default ? "eth0\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n" : ""));
    folder_.write("/proc/net/arp", "IP address HW type Flags HW address Mask Device\n");
  }
  void set_neighbour(const std::string& address, bool answers) const {
    folder_.write("/proc/net/arp", "IP address HW type Flags HW address Mask Device\n" + address + " 0x1 " +
                                       (answers ? "0x2" : "0x0") + " 00:00:00:00:00:00 * eth0\n");
  }
  std::vector<std::string> words() {
    empty_.clock.advance(60s);
    const Instant now = empty_.clock.now();
    auto observed = kNetworkReachability.observe(host_, {.now = now, .deadline = now.mono + 5s});
    if (!observed) return {std::string(to_string(observed.error().code))};
    if (most_routes_) {
      Observation most = observed->observations.front();
      most.name = most.name + ".largest";
      most.value = *most_routes_;
      observed->observations.push_back(most);
    }
    history_.add(std::move(observed->observations), kNetworkReachability.info.window);
    std::vector<std::string> list;
    for (const Finding& finding : kNetworkReachability.judge({now, history_, catalog::builtin(), {}}))
      list.push_back(std::string(to_string(finding.health)) + " " + finding.message);
    return list;
  }

  host::TestFolder folder_;
  fakes::EmptyHost empty_;
  host::Files files_{folder_.path()};
  host::Host host_{empty_.clock,       files_,          empty_.kernel_log, empty_.gpus,
                   empty_.filesystems, empty_.ethernet, empty_.time_sync,  empty_.nvme};
  History history_;
  std::optional<std::int64_t> most_routes_;
};

TEST_F(NetworkReachability, a_gateway_that_answers_or_that_nobody_asked_is_sound) {
  EXPECT_THAT(words(), IsEmpty());
  set_neighbour("192.0.2.1", true);
  EXPECT_THAT(words(), IsEmpty());
}

TEST_F(NetworkReachability, a_gateway_or_name_server_that_does_not_answer_is_told) {
  set_neighbour("192.0.2.1", false);
  EXPECT_THAT(words(), ElementsAre("degraded the gateway 192.0.2.1 does not answer on eth0"));
  set_neighbour("192.0.2.53", false);
  EXPECT_THAT(words(), ElementsAre("degraded the name server 192.0.2.53 does not answer on eth0"));
  set_neighbour("192.0.2.99", false);
  EXPECT_THAT(words(), IsEmpty());
}

TEST_F(NetworkReachability, a_lost_default_route_is_told_and_one_that_never_was_is_on_purpose) {
  set_routes(false);
  EXPECT_THAT(words(), ElementsAre("unsupported no default route since the machine started"));
  most_routes_ = 1;
  EXPECT_THAT(words(), ElementsAre("degraded the default route was lost"));
  EXPECT_THAT(kNetworkReachability.info.baselines, ElementsAre("routes.default"));
}

TEST_F(NetworkReachability, is_unknown_when_the_kernel_cannot_be_understood) {
  folder_.write("/proc/net/route", "eth0 what\n");
  EXPECT_THAT(words(), ElementsAre("malformed"));
}

}  // namespace
}  // namespace autopilot::checks
