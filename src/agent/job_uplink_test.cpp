// SPDX-License-Identifier: Apache-2.0
#include "agent/job_uplink.hpp"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "host/clock/system_clock.hpp"
#include "job_hub/receiver.hpp"
#include "net/http_server.hpp"
#include "tests/support/net/test_programs.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::agent::job_uplink_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr JobUplink::Pace kFast{
    .every = 10ms, .deadline = 2s, .after_failures = {.first = 5ms, .last = 20ms}};

// An agent's uplink and a receiver with a brain, over real TLS.
class JobUplinkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!net::testing::has_program("openssl")) GTEST_SKIP() << "openssl is not installed";
    certificates_.make_authority("ca");
    certificates_.make_node("localhost", "ca");
    certificates_.make_node("node-a", "ca");
    serve();
    uplink_.emplace(
        loop_, clock_, JobReceiverDoor{{true, "localhost", port_, ""}, [this] { return identity_; }},
        "node-a", "i1", [] { return 0.5; }, kFast, JobBacklog::Limits{});
  }
  // Certificates of the agent.
  void identify() {
    identity_ = net::TlsContext::make(net::TlsIdentity{.authorities = certificates_.text("ca.crt"),
                                                       .certificate = certificates_.text("node-a.crt"),
                                                       .key = certificates_.text("node-a.key")})
                    .value();
  }
  // A new process of the controller at the same port.
  void serve() {
    receiver_.emplace(
        clock_, job_hub::JobReceiver::Sink{
                    .leads = [this] { return hub_ != nullptr; },
                    .offer = [this](job_hub::NodeBatch batch) { return hub_->offer(std::move(batch)); }});
    server_ = std::make_unique<net::HttpServer>(loop_, net::ServerLimits{});
    receiver_->add_routes(*server_);
    const net::TlsServerIdentity identity{.certificate = certificates_.text("localhost.crt"),
                                          .key = certificates_.text("localhost.key"),
                                          .authorities = certificates_.text("ca.crt")};
    port_ = server_->listen_tls("127.0.0.1:" + std::to_string(port_), net::TlsContext::make(identity).value())
                .value();
    lead();
  }
  void lead() {
    hub_ =
        std::make_unique<job_hub::JobHub>(clock_, jobs::BrainOptions{}, nullptr, job_hub::JobHub::Limits{});
  }
  [[nodiscard]] jobs::JobRecord job(const std::string& name) const {
    jobs::JobRecord record{.time = clock_.now().wall, .job = name};
    record.ranks.push_back({.rank = 0, .node = "node-a"});
    return record;
  }
  template <class Condition>
  bool until(Condition condition) {
    return net::testing::run_until(loop_, condition);
  }

  net::testing::TestCertificates certificates_;
  host::SystemClock clock_;
  net::EventLoop loop_;
  std::shared_ptr<const net::TlsContext> identity_;
  std::unique_ptr<job_hub::JobHub> hub_;
  std::optional<job_hub::JobReceiver> receiver_;
  std::unique_ptr<net::HttpServer> server_;
  std::uint16_t port_ = 0;
  std::optional<JobUplink> uplink_;
};

TEST_F(JobUplinkTest, records_of_another_thread_reach_the_brain) {
  identify();
  uplink_->start();
  std::jthread([this] { uplink_->send({job("ml/a"), job("ml/b")}); }).join();
  EXPECT_TRUE(until([&] { return uplink_->stats().batches == 1; }));
  EXPECT_EQ(uplink_->stats().records, 2U);
  EXPECT_EQ(uplink_->stats().waiting_bytes, 0U);
  EXPECT_EQ(uplink_->stats().problem, "");
  EXPECT_EQ(receiver_->stats().batches, 1U);
}

TEST_F(JobUplinkTest, without_a_certificate_it_waits_and_states_the_cure) {
  uplink_->start();
  uplink_->send({job("ml/a")});
  EXPECT_TRUE(until([&] { return uplink_->stats().failures > 0; }));
  EXPECT_THAT(uplink_->stats().problem, HasSubstr("`tls`"));
  identify();
  EXPECT_TRUE(until([&] { return receiver_->stats().batches == 1; }));
}

TEST_F(JobUplinkTest, a_controller_that_dies_and_comes_back_gets_what_waited_and_the_jobs) {
  identify();
  uplink_->start();
  uplink_->send({job("ml/a")});
  EXPECT_TRUE(until([&] { return uplink_->stats().batches == 1; }));
  server_.reset();
  uplink_->send({jobs::XidRecord{.time = clock_.now().wall, .node = "node-a", .xid = 79}});
  EXPECT_TRUE(until([&] { return uplink_->stats().failures >= 3; }));
  EXPECT_GT(uplink_->stats().waiting_bytes, 0U);
  serve();
  EXPECT_TRUE(until([&] { return uplink_->stats().batches == 2; }));
  EXPECT_EQ(receiver_->stats().whole_wanted, 1U);
  EXPECT_EQ(receiver_->stats().batches, 1U);
  // The job again, and the event.
  EXPECT_TRUE(until([&] { return hub_->stats().records == 2; }));
  EXPECT_EQ(uplink_->stats().dropped, 0U);
}

TEST_F(JobUplinkTest, a_new_leader_gets_the_jobs_again) {
  identify();
  uplink_->start();
  uplink_->send({job("ml/a")});
  EXPECT_TRUE(until([&] { return uplink_->stats().batches == 1; }));
  hub_.reset();
  receiver_->forget();
  uplink_->send({jobs::XidRecord{.time = clock_.now().wall, .node = "node-a", .xid = 79}});
  EXPECT_TRUE(until([&] { return receiver_->stats().not_leading == 1; }));
  EXPECT_THAT(uplink_->stats().problem, HasSubstr("not the leader"));
  lead();
  EXPECT_TRUE(until([&] { return hub_->stats().records == 2; }));
}

TEST_F(JobUplinkTest, an_agent_with_the_certificate_of_another_node_is_not_heard) {
  certificates_.make_node("node-b", "ca");
  identity_ = net::TlsContext::make(net::TlsIdentity{.authorities = certificates_.text("ca.crt"),
                                                     .certificate = certificates_.text("node-b.crt"),
                                                     .key = certificates_.text("node-b.key")})
                  .value();
  uplink_->start();
  uplink_->send({job("ml/a")});
  EXPECT_TRUE(until([&] { return !uplink_->stats().problem.empty(); }));
  EXPECT_EQ(receiver_->stats().batches, 0U);
  EXPECT_GT(receiver_->stats().denied, 0U);
  EXPECT_THAT(uplink_->stats().problem, HasSubstr("403"));
}

}  // namespace
}  // namespace autopilot::agent::job_uplink_test
