// SPDX-License-Identifier: Apache-2.0
#include "agent/network_tests/bandwidth_tester.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/network_tests/bandwidth_observations.hpp"
#include "host/clock/system_clock.hpp"
#include "net/http_server.hpp"
#include "net/test_server.hpp"

namespace autopilot::agent {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kRate = 25'000'000'000;

// An agent that says where its node is reached; what it is to measure it never answers.
class Node {
 public:
  Node(net::EventLoop& loop, std::string name, std::string address, const std::size_t& rate)
      : name_(std::move(name)), server_(loop, {}) {
    server_.route(
        "GET", api::kNetworkPath,
        [this, address = std::move(address), &rate](const net::HttpRequest&, net::Responder responder) {
          const api::NodeNetwork page{name_, "", {{"net0", address, 1500, rate}}};
          responder.respond({200, "application/json", api::to_json(page), {}});
        });
    server_.route("POST", api::kServersPath, [this](const net::HttpRequest&, net::Responder responder) {
      asked_.push_back(std::move(responder));
    });
    port_ = server_.listen_tcp("127.0.0.1:0").value();
  }
  [[nodiscard]] Peer peer() const { return {name_, "127.0.0.1", port_}; }
  [[nodiscard]] bool is_asked() const { return !asked_.empty(); }

 private:
  std::string name_;
  net::HttpServer server_;
  std::uint16_t port_ = 0;
  std::vector<net::Responder> asked_;
};

class BandwidthTesterTest : public ::testing::Test {
 protected:
  Status begin(const std::vector<Subject>& nodes = {}) {
    return tester_.begin({.on_progress = [](const std::string&) {},
                          .on_end = [this](Result<std::string> said) { said_ = std::move(said); },
                          .reservation = nodes});
  }
  [[nodiscard]] bool run_until(const std::function<bool()>& is_so) {
    return net::testing::run_until(loop_, is_so);
  }

  net::EventLoop loop_;
  const host::SystemClock clock_;
  std::size_t rate_ = kRate;
  int most_percent_ = 100;
  std::optional<Result<std::string>> said_;
  Node one_{loop_, "gpu-1", "10.1.0.1", rate_};
  Node two_{loop_, "gpu-2", "10.1.0.2", rate_};
  AddressBook book_{loop_, clock_, {}};
  std::shared_ptr<host::TestBoard> board_ = std::make_shared<host::TestBoard>();
  BandwidthTester tester_{loop_,
                          clock_,
                          book_,
                          {.peers =
                               [this](const auto& done) {
                                 done(std::vector{one_.peer(), two_.peer()});
                               },
                           .tls = {},
                           .most_percent = [this] { return most_percent_; },
                           .look = [] {}},
                          board_};
};

TEST_F(BandwidthTesterTest, of_lines_of_an_unknown_rate_no_share_is_taken) {
  rate_ = 0;
  most_percent_ = 50;
  ASSERT_TRUE(begin());
  ASSERT_TRUE(run_until([this] { return said_.has_value(); }));
  ASSERT_FALSE(*said_);
  EXPECT_THAT(said_->error().what, HasSubstr("network.most_percent"));
  EXPECT_EQ(board_->last(kBandwidthCheck).error().code, Errc::unsupported) << "what was known stays";
  EXPECT_FALSE(one_.is_asked() || two_.is_asked());
}

TEST_F(BandwidthTesterTest, but_all_that_they_carry) {
  rate_ = 0;
  ASSERT_TRUE(begin());
  EXPECT_TRUE(run_until([this] { return one_.is_asked() || two_.is_asked(); }));
}

TEST_F(BandwidthTesterTest, one_that_is_cancelled_before_a_pair_was_measured_says_so) {
  ASSERT_TRUE(begin());
  ASSERT_TRUE(run_until([this] { return one_.is_asked() || two_.is_asked(); }));
  EXPECT_EQ(begin().error().code, Errc::conflict);
  tester_.cancel();
  ASSERT_TRUE(run_until([this] { return said_.has_value(); }));
  EXPECT_THAT(said_->error().what, HasSubstr("before a pair was measured"));
  EXPECT_TRUE(begin()) << "the next one need not wait for what the agents still do";
}

TEST_F(BandwidthTesterTest, a_single_node_is_no_pair) {
  const Status begun = begin({{SubjectKind::peer, "gpu-1", {}, {}, {}}});
  EXPECT_EQ(begun.error().code, Errc::malformed);
}

}  // namespace
}  // namespace autopilot::agent
