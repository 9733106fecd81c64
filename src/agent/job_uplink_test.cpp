// SPDX-License-Identifier: Apache-2.0
#include "agent/job_uplink.hpp"

#include <array>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

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
    receiver_.emplace(clock_,
                      job_hub::JobReceiver::Sink{
                          .leads = [this] { return hub_ != nullptr; },
                          .offer = [this](job_hub::NodeBatch batch) { return hub_->offer(std::move(batch)); },
                          .is_agent = {},
                          .suspected = [this](const std::string&) { return suspected_; },
                          .ask = [this](auto question) -> Status {
                            if (hub_->ask(std::move(question))) return {};
                            return fail(Errc::exhausted, "too many questions about jobs wait");
                          }});
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
  std::vector<api::SuspectedJob> suspected_;  // of the node
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

TEST_F(JobUplinkTest, jobs_that_are_suspected_to_hang_are_told_with_each_batch) {
  identify();
  suspected_ = {{"ml/a", "00c0ffee00c0ffee"}};
  std::vector<std::vector<api::SuspectedJob>> told;
  uplink_->on_suspected([&](std::vector<api::SuspectedJob> now) { told.push_back(std::move(now)); });
  uplink_->start();
  uplink_->send({job("ml/a")});
  EXPECT_TRUE(until([&] { return told.size() == 1; }));
  const auto before = std::exchange(suspected_, {});
  uplink_->send({job("ml/b")});
  EXPECT_TRUE(until([&] { return told.size() == 2; }));
  EXPECT_EQ(told[0], before);
  EXPECT_TRUE(told[1].empty());
}

TEST_F(JobUplinkTest, the_outcome_of_a_job_of_this_node_is_asked_for) {
  std::vector<jobs::JobReport> told;
  const auto ask = [&](const std::string& job) {
    uplink_->ask(job, [&](const jobs::JobReport& outcome) { told.push_back(outcome); });
  };
  ask("ml/a");  // without a certificate
  identify();
  uplink_->start();
  uplink_->send({job("ml/a")});
  EXPECT_TRUE(until([&] {
    ask("ml/none");
    ask("ml/a");
    return !told.empty();
  }));
  EXPECT_EQ(told[0].state.job, "ml/a");
  EXPECT_EQ(told[0].nodes, std::vector<std::string>{"node-a"});
  EXPECT_EQ(uplink_->stats().failures, 0U);
}

TEST_F(JobUplinkTest, a_receiver_that_is_away_answers_no_question_and_gets_the_next_batch) {
  identify();
  uplink_->start();
  server_.reset();
  for (int question = 0; question < 20; ++question)
    uplink_->ask("ml/" + std::to_string(question), [](const auto&) { FAIL() << "nobody answers"; });
  uplink_->send({job("ml/a")});
  EXPECT_TRUE(until([&] { return uplink_->stats().failures >= 3; }));
  serve();
  EXPECT_TRUE(until([&] { return uplink_->stats().batches == 1; }));
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
  EXPECT_TRUE(until([&] { return !uplink_->stats().problem.empty(); }));
  EXPECT_THAT(uplink_->stats().problem, HasSubstr("not the leader"));
  EXPECT_EQ(receiver_->stats().not_leading, 1U);
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

// A process that takes batches, as the controller does, and states through a pipe what it took.
class ReceiverProcess {
 public:
  // port: 0: any.
  ReceiverProcess(const net::testing::TestCertificates& certificates, std::uint16_t port) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      run(certificates, port, ends[1]);
      ::_exit(0);
    }
    ::close(ends[1]);
    from_ = ends[0];
    EXPECT_EQ(::read(from_, &port_, sizeof port_), static_cast<ssize_t>(sizeof port_));
  }
  ReceiverProcess(const ReceiverProcess&) = delete;
  ReceiverProcess& operator=(const ReceiverProcess&) = delete;
  ~ReceiverProcess() {
    kill();
    ::close(from_);
  }

  [[nodiscard]] std::uint16_t port() const { return port_; }
  // Waits for the first batch that it took; returns how many it had to ask for as a whole before.
  [[nodiscard]] int wholes_before_first_batch() const {
    std::uint8_t wholes = 255;
    EXPECT_EQ(::read(from_, &wholes, 1), 1);
    return wholes;
  }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  static void run(const net::testing::TestCertificates& certificates, std::uint16_t port, int to) {
    const host::SystemClock clock;
    net::EventLoop loop;
    job_hub::JobHub hub(clock, {}, nullptr, {});
    job_hub::JobReceiver receiver(
        clock, {.leads = [] { return true; },
                .offer = [&](job_hub::NodeBatch batch) { return hub.offer(std::move(batch)); }});
    net::HttpServer server(loop, {});
    receiver.add_routes(server);
    const net::TlsServerIdentity identity{.certificate = certificates.text("localhost.crt"),
                                          .key = certificates.text("localhost.key"),
                                          .authorities = certificates.text("ca.crt")};
    const auto bound =
        server.listen_tls("127.0.0.1:" + std::to_string(port), net::TlsContext::make(identity).value());
    const std::uint16_t stated = bound.value_or(0);
    if (::write(to, &stated, sizeof stated) < 0) return;
    bool is_stated = false;
    const auto watch = loop.every(2ms, [&] {
      if (is_stated || receiver.stats().batches == 0) return;
      is_stated = true;
      const auto wholes = static_cast<std::uint8_t>(receiver.stats().whole_wanted);
      if (::write(to, &wholes, 1) < 0) loop.stop();
    });
    loop.run();
  }

  pid_t pid_ = -1;
  int from_ = -1;
  std::uint16_t port_ = 0;
};

TEST(JobUplinkProcess, a_controller_that_is_killed_gets_the_jobs_again_when_it_is_back) {
  if (!net::testing::has_program("openssl")) GTEST_SKIP() << "openssl is not installed";
  const net::testing::TestCertificates certificates;
  certificates.make_authority("ca");
  certificates.make_node("localhost", "ca");
  certificates.make_node("node-a", "ca");
  ReceiverProcess first(certificates, 0);
  ASSERT_NE(first.port(), 0);
  const host::SystemClock clock;
  net::EventLoop loop;
  const auto tls = net::TlsContext::make(net::TlsIdentity{.authorities = certificates.text("ca.crt"),
                                                          .certificate = certificates.text("node-a.crt"),
                                                          .key = certificates.text("node-a.key")})
                       .value();
  JobUplink uplink(loop, clock, JobReceiverDoor{{true, "localhost", first.port(), ""}, [&] { return tls; }},
                   "node-a", "i1", [] { return 0.5; }, kFast, {});
  uplink.start();
  jobs::JobRecord job{.time = clock.now().wall, .job = "ml/a"};
  job.ranks.push_back({.rank = 0, .node = "node-a"});
  uplink.send({job});
  EXPECT_TRUE(net::testing::run_until(loop, [&] { return uplink.stats().batches == 1; }));
  EXPECT_EQ(first.wholes_before_first_batch(), 0);
  first.kill();
  uplink.send({jobs::XidRecord{.time = clock.now().wall, .node = "node-a", .xid = 79}});
  EXPECT_TRUE(net::testing::run_until(loop, [&] { return uplink.stats().failures > 0; }));
  const ReceiverProcess second(certificates, first.port());
  EXPECT_TRUE(net::testing::run_until(loop, [&] { return uplink.stats().batches == 2; }));
  EXPECT_EQ(second.wholes_before_first_batch(), 1);
  EXPECT_EQ(uplink.stats().dropped, 0U);
}

}  // namespace
}  // namespace autopilot::agent::job_uplink_test
