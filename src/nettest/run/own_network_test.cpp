// SPDX-License-Identifier: Apache-2.0
#include "nettest/run/own_network.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/clock/system_clock.hpp"
#include "net/http_session.hpp"
#include "tests/support/host/test_folder.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::nettest {
namespace {

using ::testing::HasSubstr;

class OwnNetworkTest : public ::testing::Test {
 protected:
  OwnNetworkTest() {
    server_.route("GET", "/v1/network", [this](const net::HttpRequest&, net::Responder responder) {
      own_.answer(std::move(responder));
    });
    url_ = {false, "127.0.0.1", server_.listen_tcp("127.0.0.1:0").value(), ""};
  }
  // The answer of the page; this thread reads the network.
  Result<net::HttpResponse> get() {
    std::optional<Result<net::HttpResponse>> answer;
    net::HttpSession session(loop_, url_, {});
    net::HttpRequest request;
    request.method = "GET";
    request.path = "/v1/network";
    const net::Exchange exchange =
        session.send(request, net::testing::kPatience, [&answer](auto got) { answer = std::move(got); });
    const bool is_over = net::testing::run_until(loop_, [this, &answer] {
      for (const auto& task : std::exchange(tasks_, {}))
        task();
      return answer.has_value();
    });
    return is_over ? *answer : fail(Errc::timed_out, "no answer");
  }

  net::EventLoop loop_;
  const host::SystemClock clock_;
  net::HttpServer server_{loop_, {}};
  net::ServerUrl url_;
  OwnNetwork::Lines lines_ = OwnLines{{{"eth0", "10.1.0.7", 1500}}};
  std::string leaf_;
  int reads_ = 0;
  bool has_room_ = true;
  std::vector<std::function<void()>> tasks_;
  OwnNetwork own_{loop_, clock_,
                  [this] {
                    return api::NodeNetwork{"node-a", "autopilot-x1", {}, leaf_};
                  },
                  [this] {
                    ++reads_;
                    return lines_;
                  },
                  [this](std::function<void()> task) {
                    if (has_room_) tasks_.push_back(std::move(task));
                    return has_room_;
                  }};
};

TEST_F(OwnNetworkTest, reports_the_number_and_the_vendor_of_gpus_for_an_all_reduce) {
  lines_->gpus = 8;
  lines_->gpu_vendor = host::GpuVendor::amd;
  const auto answer = get();
  ASSERT_TRUE(answer) << answer.error().what;
  const auto network = api::parse_node_network(answer->body);
  EXPECT_EQ(network->gpus, 8U);
  EXPECT_EQ(network->gpu_vendor, api::GpuVendor::amd);
}

TEST_F(OwnNetworkTest, where_there_are_gpus_of_two_vendors_those_of_nvidia_count) {
  const host::TestFolder folder;
  const auto add = [&folder](const std::string& address, const std::string& vendor) {
    const std::string device = "/sys/bus/pci/devices/" + address;
    folder.write(device + "/vendor", vendor);
    folder.write(device + "/device", "0x74a1\n");
    folder.write(device + "/class", "0x120000\n");
  };
  add("0000:05:00.0", "0x1002\n");
  add("0000:26:00.0", "0x1002\n");
  const auto amd = read_networks(host::Files(folder.path()), {});
  ASSERT_TRUE(amd) << amd.error().what;
  EXPECT_EQ(amd->gpus, 2U);
  EXPECT_EQ(amd->gpu_vendor, host::GpuVendor::amd);
  add("0000:3b:00.0", "0x10de\n");
  folder.write("/sys/bus/pci/devices/0000:3b:00.0/class", "0x030200\n");
  const auto both = read_networks(host::Files(folder.path()), {});
  EXPECT_EQ(both->gpus, 1U);
  EXPECT_EQ(both->gpu_vendor, host::GpuVendor::nvidia);
}

TEST_F(OwnNetworkTest, reports_the_addresses_of_the_node_and_remembers_them_for_seconds) {
  for (int i = 0; i < 3; ++i) {
    const auto answer = get();
    ASSERT_TRUE(answer) << answer.error().what;
    EXPECT_EQ(answer->status, 200);
    const auto network = api::parse_node_network(answer->body);
    ASSERT_TRUE(network) << answer->body;
    EXPECT_EQ(*network, (api::NodeNetwork{"node-a", "autopilot-x1", {{"eth0", "10.1.0.7", 1500}}}));
  }
  EXPECT_EQ(reads_, 1);
}

TEST_F(OwnNetworkTest, reports_active_rdma_ports_only) {
  const host::TestFolder folder;
  const auto add = [&folder](const std::string& device, const std::string& state) {
    const std::string port = "/sys/class/infiniband/" + device + "/ports/1";
    folder.write(port + "/state", state);
    folder.write(port + "/phys_state", "5: LinkUp\n");
    folder.write(port + "/rate", "400 Gb/sec (4X NDR)\n");
    folder.write(port + "/link_layer", "InfiniBand\n");
  };
  add("mlx5_0", "4: ACTIVE\n");
  add("mlx5_1", "1: DOWN\n");
  add("mlx5_2", "garbage\n");
  folder.write("/sys/class/infiniband/mlx5_0/device/net/ib0/dev_port", "0\n");
  const auto lines = read_networks(host::Files(folder.path()), {});
  ASSERT_TRUE(lines) << lines.error().what;
  EXPECT_THAT(lines->rdma, ::testing::ElementsAre(api::RdmaPort{"mlx5_0/1", 400'000'000'000, "ib0"}));
  lines_ = *lines;
  EXPECT_EQ(api::parse_node_network(get().value().body)->rdma, lines->rdma);
}

// As in a machine with two adapters and two GPUs below each of its switches.
TEST_F(OwnNetworkTest, ports_that_are_as_near_to_several_gpus_do_not_all_have_the_first) {
  const host::TestFolder folder;
  const auto add = [&folder](const std::string& address, const std::string& vendor, const std::string& kind) {
    std::string device = "/sys/devices/pci0000:37/0000:37:01.0/" + address;
    folder.write(device + "/vendor", vendor);
    folder.write(device + "/device", "0x2330\n");
    folder.write(device + "/class", kind);
    folder.link("/sys/bus/pci/devices/" + address, device);
    return device;
  };
  add("0000:3b:00.0", "0x10de\n", "0x030200\n");
  add("0000:3c:00.0", "0x10de\n", "0x030200\n");
  for (const auto& [name, address] :
       {std::pair{"mlx5_0", "0000:40:00.0"}, {"mlx5_1", "0000:41:00.0"}, {"mlx5_2", "0000:42:00.0"}}) {
    const std::string device = std::string("/sys/class/infiniband/") + name;
    folder.link(device + "/device", add(address, "0x15b3\n", "0x020700\n"));
    folder.write(device + "/ports/1/state", "4: ACTIVE\n");
    folder.write(device + "/ports/1/phys_state", "5: LinkUp\n");
    folder.write(device + "/ports/1/rate", "200 Gb/sec (4X HDR)\n");
    folder.write(device + "/ports/1/link_layer", "InfiniBand\n");
  }
  const auto lines = read_networks(host::Files(folder.path()), {});
  ASSERT_TRUE(lines) << lines.error().what;
  std::vector<std::string> gpus;
  for (const api::RdmaPort& port : lines->rdma)
    gpus.push_back(port.gpu);
  EXPECT_THAT(gpus, ::testing::ElementsAre("0000:3b:00.0", "0000:3c:00.0", "0000:3b:00.0"));
}

// The labels of the node may come later than the first question, and change.
TEST_F(OwnNetworkTest, the_leaf_is_the_one_of_now) {
  EXPECT_EQ(api::parse_node_network(get().value().body)->leaf, "");
  leaf_ = "leaf-7";
  EXPECT_EQ(api::parse_node_network(get().value().body)->leaf, "leaf-7");
}

TEST_F(OwnNetworkTest, what_cannot_be_read_is_an_error_and_is_tried_again) {
  lines_ = fail(Errc::denied, "no right to read addresses");
  auto answer = get();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 403);
  EXPECT_THAT(answer->body, HasSubstr("no right to read addresses"));
  lines_ = OwnLines{};
  answer = get();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
}

TEST_F(OwnNetworkTest, does_not_wait_for_a_stuck_thread) {
  has_room_ = false;
  const auto answer = get();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 503);
}

}  // namespace
}  // namespace autopilot::nettest
