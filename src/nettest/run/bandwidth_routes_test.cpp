// SPDX-License-Identifier: Apache-2.0
#include "nettest/run/bandwidth_routes.hpp"

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <gtest/gtest.h>
#include <iterator>
#include <mutex>
#include <optional>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "host/clock/system_clock.hpp"
#include "net/http_session.hpp"
#include "tests/support/host/test_folder.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::nettest {
namespace {

const std::string kAddress = "10.1.0.7";
const std::string kFreeGpu = "0000:1b:00.0";

// A node with one line and a GPU beside it; its children run until they are stopped. Any caller may
// use the lines.
class BandwidthRoutesTest : public ::testing::Test {
 protected:
  BandwidthRoutesTest() {
    add_bandwidth_routes(server_, {.doors = {ends_,
                                             standing_,
                                             own_,
                                             book_,
                                             {},
                                             [] { return std::string(); },
                                             [this](const std::string& gpu, const auto& done) {
                                               EXPECT_EQ(gpu, kFreeGpu);
                                               had_room_ = standing_.is_idle();
                                               done("it is in use");
                                             },
                                             "gpu-7",
                                             "",
                                             {}},
                                   .rights = {},
                                   .is_open = true});
    url_ = {false, "127.0.0.1", server_.listen_tcp("127.0.0.1:0").value(), ""};
    EXPECT_TRUE(server_.listen_unix(socket_, 0600));
  }
  void TearDown() override {
    ends_.stop();
    standing_.stop();
    for (std::thread& thread : threads_)
      thread.join();
  }
  BandwidthEnds::Doors doors() {
    return {
        .program = std::string("/opt/probe"),
        .gpu_program = std::string("/opt/gpu-probe"),
        .run = [](const host::Command& command, MonoTime, const std::stop_token& stop,
                  const host::LineHandler& on_line) -> Result<host::ChildReport> {
          if (command.arguments.front() == "nccl-serve")
            on_line(R"({"id":")" + std::string(api::kNcclIdLength, 'a') + R"("})");
          else
            on_line(R"({"role":"serve","address":"10.1.0.7","ports":[41000],"failed":[]})");
          std::mutex mutex;
          std::unique_lock lock(mutex);
          std::condition_variable_any told;
          told.wait(lock, stop, [] { return false; });
          return host::ChildReport{};
        },
        .submit =
            [this](std::function<void()> task) {
              threads_.emplace_back(std::move(task));
              return true;
            },
    };
  }
  [[nodiscard]] bool run_until(const std::function<bool()>& is_so) {
    return net::testing::run_until(loop_, is_so);
  }
  // The id of servers by TCP.
  std::string listen_on(BandwidthEnds& ends) {
    std::optional<Result<api::ServersAnswer>> answer;
    ends.serve("ib0", {.address = kAddress, .seconds = 30, .allowed = {"10.1.0.9"}},
               [&answer](auto told) { answer = std::move(told); });
    return id_in(answer);
  }
  std::string listen_by_nccl() {
    std::optional<Result<api::ServersAnswer>> answer;
    ends_.serve(AllReduceServer{{.address = kAddress, .gpus = 8, .ranks = 16, .seconds = 3}}, 60,
                [&answer](auto told) { answer = std::move(told); });
    return id_in(answer);
  }
  std::string id_in(const std::optional<Result<api::ServersAnswer>>& answer) {
    EXPECT_TRUE(run_until([&answer] { return answer.has_value(); }));
    return answer && *answer ? (*answer)->id : "";
  }
  int end(const std::string& id) {
    std::optional<Result<net::HttpResponse>> answer;
    net::HttpSession session(loop_, url_, {});
    net::HttpRequest request;
    request.method = "DELETE";
    request.path = std::string(api::kServersPath) + "/" + id;
    const net::Exchange exchange =
        session.send(request, net::testing::kPatience, [&answer](auto got) { answer = std::move(got); });
    EXPECT_TRUE(run_until([&answer] { return answer.has_value(); }));
    return answer && *answer ? (*answer)->status : 0;
  }
  // Over the Unix socket, whose callers may use GPUs. The answer is not read.
  [[nodiscard]] int ask_for(const api::ServersRequest& wanted) const {
    const std::string body = api::to_json(wanted);
    const std::string request = "POST " + std::string(api::kServersPath) +
                                " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                                "Content-Length: " +
                                std::to_string(body.size()) + "\r\n\r\n" + body;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::ranges::copy(socket_, std::begin(address.sun_path));
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): so sockets are named
    EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(write(fd, request.data(), request.size()), static_cast<ssize_t>(request.size()));
    return fd;
  }

  const host::TestFolder folder_;
  const std::string socket_ = folder_.path() + "/socket";
  net::EventLoop loop_;
  const host::SystemClock clock_;
  std::vector<std::thread> threads_;
  std::optional<bool> had_room_;  // when the users of the GPU were checked
  BandwidthEnds ends_{loop_, clock_, "gpu-7-", doors()};
  BandwidthEnds standing_{loop_, clock_, "gpu-7-standing-", doors()};
  OwnNetwork own_{loop_, clock_, [] { return api::NodeNetwork{}; },
                  [] {
                    return OwnLines{{{"ib0", kAddress}}, {{"mlx5_0/1", 200'000'000'000, "ib0", kFreeGpu}}, 8};
                  },
                  [](const std::function<void()>& task) {
                    task();
                    return true;
                  }};
  AddressBook book_{loop_, clock_, [] { return nullptr; }};
  net::HttpServer server_{loop_, {}};
  net::ServerUrl url_;
};

TEST_F(BandwidthRoutesTest, servers_that_have_gpus_are_ended_by_agents_alone) {
  const std::string joinable = listen_by_nccl();
  ASSERT_NE(joinable, "");
  EXPECT_EQ(end(joinable), 403);
  EXPECT_FALSE(ends_.is_idle());
  ends_.stop();
  ASSERT_TRUE(run_until([this] { return ends_.is_idle(); }));
  EXPECT_EQ(end(listen_on(ends_)), 200);
  EXPECT_TRUE(ends_.is_idle());
}

// Another process may take the GPU while they end.
TEST_F(BandwidthRoutesTest, a_gpu_is_checked_after_standing_servers_have_made_room) {
  ASSERT_NE(listen_on(standing_), "");
  const int fd = ask_for({.address = kAddress,
                          .allowed = "10.1.0.9",
                          .seconds = 5,
                          .rdma_port = "mlx5_0/1",
                          .test_seconds = 1,
                          .memory = api::Memory::gpu});
  EXPECT_TRUE(run_until([this] { return had_room_.has_value(); }));
  EXPECT_EQ(had_room_, true);
  close(fd);
}

}  // namespace
}  // namespace autopilot::nettest
