// SPDX-License-Identifier: Apache-2.0
#include "job_hub/receiver.hpp"

#include <atomic>
#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/job_batch.hpp"
#include "api/job_records.hpp"
#include "api/jobs_v1.hpp"
#include "host/clock/system_clock.hpp"
#include "net/http_session.hpp"
#include "tests/support/net/test_programs.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::job_hub::receiver_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// A clock that a test sets. Read by the hub's thread as well.
class SetClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override {
    const Duration passed{passed_.load()};
    return {WallTime(1767225600s) + passed, MonoTime(1000s) + passed};
  }
  void pass(Duration time) { passed_ += time.count(); }

 private:
  std::atomic<std::int64_t> passed_{0};
};

// A receiver behind real TLS, and clients with certificates of nodes.
class JobReceiverTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!net::testing::has_program("openssl")) GTEST_SKIP() << "openssl is not installed";
    certificates_.make_authority("ca");
    certificates_.make_node("localhost", "ca");
    certificates_.make_node("node-a", "ca");
    receiver_.add_routes(server_);
    const net::TlsServerIdentity identity{.certificate = certificates_.text("localhost.crt"),
                                          .key = certificates_.text("localhost.key"),
                                          .authorities = certificates_.text("ca.crt")};
    port_ = server_.listen_tls("127.0.0.1:0", net::TlsContext::make(identity).value()).value();
    hub_ = new_hub({});
  }
  std::unique_ptr<JobHub> new_hub(JobHub::Limits limits) {
    return std::make_unique<JobHub>(clock_, jobs::BrainOptions{}, nullptr, limits);
  }
  // as: whose certificate the client shows; empty: none.
  net::HttpResponse post(const std::string& body, const std::string& as = "node-a") {
    net::HttpRequest request;
    request.method = "POST";
    request.path = api::kJobRecordsPath;
    request.body = body;
    return send(std::move(request), as);
  }
  net::HttpResponse ask(const std::string& job, const std::string& node, const std::string& as) {
    net::HttpRequest request;
    request.method = "GET";
    request.path = api::kJobOutcomePath;
    request.query = {{"job", job}, {"node", node}};
    return send(std::move(request), as);
  }
  net::HttpResponse send(net::HttpRequest request, const std::string& as) {
    net::TlsIdentity identity{.authorities = certificates_.text("ca.crt")};
    if (!as.empty()) {
      identity.certificate = certificates_.text(as + ".crt");
      identity.key = certificates_.text(as + ".key");
    }
    net::HttpSession session(loop_, {true, "localhost", port_, ""}, net::TlsContext::make(identity).value());
    std::optional<Result<net::HttpResponse>> answer;
    const auto exchange = session.send(std::move(request), 20s, [&](auto one) { answer = std::move(one); });
    EXPECT_TRUE(net::testing::run_until(loop_, [&] { return answer.has_value(); }));
    if (!answer || !*answer) return {0, "", answer ? answer->error().what : "", {}};
    return **answer;
  }
  [[nodiscard]] api::JobBatch batch(std::uint64_t sequence, bool is_whole = false) const {
    return {.node = "node-a",
            .instance = "i1",
            .sequence = sequence,
            .sent = clock_.now().wall,
            .is_whole = is_whole};
  }
  api::JobBatchAnswer taken(const std::string& body) {
    const auto answer = post(body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return api::parse_job_batch_answer(answer.body).value_or(api::JobBatchAnswer{});
  }
  // A job of one rank on the node that started now.
  [[nodiscard]] std::string job_line(const std::string& job = "ml/a",
                                     const std::string& node = "node-a") const {
    jobs::JobRecord record{.time = clock_.now().wall, .job = job, .name = job};
    record.ranks.push_back({.rank = 0, .node = node, .gpu = 0});
    return api::to_line(jobs::Record(record));
  }
  // The report of the job, after the assembly had time to see it.
  std::optional<jobs::JobReport> report_of(const std::string& job) {
    for (int i = 0; i < 8; ++i) {
      clock_.pass(10s);
      bool is_done = false;
      std::optional<jobs::JobReport> found;
      EXPECT_TRUE(hub_->ask([&](jobs::Brain& brain, WallTime) {
        if (auto report = brain.report(job)) found = *std::move(report);
        loop_.post([&] { is_done = true; });
      }));
      EXPECT_TRUE(net::testing::run_until(loop_, [&] { return is_done; }));
      if (found) return found;
    }
    return std::nullopt;
  }
  HubStats hub_stats_after(std::uint64_t batches) {
    EXPECT_TRUE(net::testing::run_until(loop_, [&] {
      clock_.pass(1s);
      return hub_->stats().batches >= batches;
    }));
    return hub_->stats();
  }

  net::testing::TestCertificates certificates_;
  SetClock clock_;
  net::EventLoop loop_;
  std::unique_ptr<JobHub> hub_;
  std::map<std::string, std::vector<api::SuspectedJob>> suspected_;  // by node
  JobReceiver receiver_{clock_,
                        {.leads = [this] { return hub_ != nullptr; },
                         .offer = [this](NodeBatch batch) { return hub_->offer(std::move(batch)); },
                         .is_agent = {},
                         .suspected = [this](const std::string& node) { return suspected_[node]; },
                         .ask = [this](auto question) -> Status {
                           if (hub_->ask(std::move(question))) return {};
                           return fail(Errc::exhausted, "too many questions about jobs wait");
                         }}};
  net::HttpServer server_{loop_, {}};
  std::uint16_t port_ = 0;
};

TEST_F(JobReceiverTest, a_job_that_an_agent_sends_is_known_to_the_brain) {
  EXPECT_EQ(taken(to_line(batch(1, true)) + job_line()).taken, 1U);
  const auto report = report_of("ml/a");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->state.ranks, 1);
  EXPECT_THAT(report->nodes, ::testing::ElementsAre("node-a"));
}

TEST_F(JobReceiverTest, an_agent_is_told_which_of_its_jobs_are_suspected_to_hang) {
  suspected_["node-a"] = {{"ml/a", "00c0ffee00c0ffee"}};
  suspected_["node-b"] = {{"ml/b", ""}};
  EXPECT_EQ(taken(to_line(batch(1, true)) + job_line()).suspected, suspected_["node-a"]);
}

TEST_F(JobReceiverTest, an_agent_is_told_the_outcome_of_a_job_of_its_node_only) {
  certificates_.make_node("node-b", "ca");
  EXPECT_EQ(taken(to_line(batch(1, true)) + job_line()).taken, 1U);
  ASSERT_TRUE(report_of("ml/a"));
  const auto answer = ask("ml/a", "node-a", "node-a");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const auto outcome = api::parse_job(answer.body);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->state.job, "ml/a");
  EXPECT_FALSE(outcome->ended);
  EXPECT_EQ(ask("ml/a", "node-b", "node-b").status, 404) << "it did not run there";
  EXPECT_EQ(ask("ml/none", "node-a", "node-a").status, 404);
  EXPECT_EQ(ask("ml/a", "node-a", "node-b").status, 403);
  EXPECT_EQ(ask("ml/a", "node-a", "").status, 403);
  EXPECT_EQ(ask("", "node-a", "node-a").status, 400);
  EXPECT_EQ(ask(std::string(254, 'j'), "node-a", "node-a").status, 400);
  EXPECT_EQ(receiver_.stats().questions, 3U);
}

TEST_F(JobReceiverTest, questions_count_for_what_a_node_may_send) {
  const std::string much(JobReceiver::kLongestBody - 1024, '\n');
  for (std::uint64_t sent = 1; sent <= 8; ++sent)
    EXPECT_EQ(post(to_line(batch(sent, sent == 1)) + much).status, 200);
  EXPECT_EQ(ask("ml/none", "node-a", "node-a").status, 429);
  clock_.pass(1s);
  EXPECT_EQ(ask("ml/none", "node-a", "node-a").status, 404);
}

TEST_F(JobReceiverTest, another_replica_leads_and_tells_no_outcome) {
  hub_.reset();
  EXPECT_EQ(ask("ml/a", "node-a", "node-a").status, 503);
}

TEST_F(JobReceiverTest, an_agent_cannot_send_as_another_node) {
  certificates_.make_node("node-b", "ca");
  EXPECT_EQ(post(to_line(batch(1, true)) + job_line(), "node-b").status, 403);
  EXPECT_EQ(post(to_line(batch(1, true)) + job_line(), "").status, 403);
  EXPECT_EQ(receiver_.stats().batches, 0U);
  EXPECT_EQ(receiver_.stats().denied, 1U);
}

TEST_F(JobReceiverTest, an_agent_cannot_speak_about_another_node) {
  (void)taken(to_line(batch(1, true)) + job_line("ml/a", "node-b") + job_line("ml/b") +
              R"({"type":"xid","t":1767225600,"node":"node-b","xid":79})"
              "\n");
  ASSERT_TRUE(report_of("ml/b"));
  EXPECT_FALSE(report_of("ml/a"));
  EXPECT_GE(hub_stats_after(1).dropped, 2U);
}

TEST_F(JobReceiverTest, a_batch_that_is_sent_twice_is_taken_once) {
  const std::string body = to_line(batch(1, true)) + job_line();
  EXPECT_EQ(taken(body).taken, 1U);
  EXPECT_EQ(taken(body).taken, 1U);
  EXPECT_EQ(receiver_.stats().batches, 1U);
  EXPECT_EQ(receiver_.stats().repeated, 1U);
}

TEST_F(JobReceiverTest, a_node_that_is_not_known_is_asked_for_all_its_jobs) {
  const auto answer = taken(to_line(batch(7)));
  EXPECT_EQ(answer.taken, 0U);
  EXPECT_TRUE(answer.wants_whole);
  EXPECT_FALSE(taken(to_line(batch(7, true))).wants_whole);
  EXPECT_EQ(taken(to_line(batch(8))).taken, 8U);
  // A gap.
  EXPECT_TRUE(taken(to_line(batch(10))).wants_whole);
}

TEST_F(JobReceiverTest, a_new_leader_asks_for_all_jobs_and_others_name_no_result) {
  (void)taken(to_line(batch(1, true)));
  const auto old = std::exchange(hub_, nullptr);
  receiver_.forget();
  const auto answer = post(to_line(batch(2)));
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(answer.body, HasSubstr("not the leader"));
  EXPECT_THAT(answer.headers, ::testing::Contains(std::pair<std::string, std::string>("retry-after", "1")));
  hub_ = new_hub({});
  EXPECT_TRUE(taken(to_line(batch(2))).wants_whole);
}

TEST_F(JobReceiverTest, a_queue_that_is_full_is_answered_with_a_pause_and_loses_nothing) {
  hub_ = new_hub({.batches = 16, .bytes = 10, .questions = 4});
  const auto answer = post(to_line(batch(1, true)) + job_line());
  EXPECT_EQ(answer.status, 429);
  EXPECT_THAT(answer.headers, ::testing::Contains(std::pair<std::string, std::string>("retry-after", "5")));
  EXPECT_EQ(receiver_.stats().full, 1U);
  hub_ = new_hub({});
  EXPECT_EQ(taken(to_line(batch(1, true)) + job_line()).taken, 1U);
}

TEST_F(JobReceiverTest, a_node_that_sends_too_much_is_slowed_down) {
  const std::string much(3'900'000, ' ');
  std::uint64_t sequence = 0;
  int status = 200;
  while (status == 200 && sequence < 20)
    status = post(to_line(batch(++sequence, true)) + much).status;
  EXPECT_EQ(status, 429);
  EXPECT_GT(sequence, 5U);
  clock_.pass(1min);
  EXPECT_EQ(taken(to_line(batch(sequence, true)) + much).taken, sequence);
}

TEST_F(JobReceiverTest, garbage_is_refused_and_a_malformed_line_is_left_out) {
  EXPECT_EQ(post("<html>\n").status, 400);
  EXPECT_EQ(post(std::string("\0\n\xff", 3)).status, 400);
  EXPECT_EQ(post(std::string(10'000'000, 'x')).status, 413);
  (void)taken(to_line(batch(1, true)) + "{\"type\":\"window\"\nrubbish\n\n" + job_line());
  ASSERT_TRUE(report_of("ml/a"));
  const HubStats stats = hub_stats_after(1);
  EXPECT_EQ(stats.malformed, 2U);
  EXPECT_EQ(stats.records, 1U);
  EXPECT_THAT(stats.last_malformed, HasSubstr("node-a: "));
}

TEST_F(JobReceiverTest, a_clock_that_is_an_hour_off_is_corrected) {
  api::JobBatch late = batch(1, true);
  late.sent -= 1h;
  jobs::JobRecord record{.time = late.sent, .job = "ml/a", .name = "a"};
  record.ranks.push_back({.rank = 0, .node = "node-a", .gpu = 0});
  const WallTime now = clock_.now().wall;
  (void)taken(to_line(late) + api::to_line(jobs::Record(record)));
  const auto report = report_of("ml/a");
  ASSERT_TRUE(report);
  EXPECT_LT(std::chrono::abs(report->started - now), 1s);
  EXPECT_EQ(receiver_.stats().corrected, 1U);
}

TEST_F(JobReceiverTest, a_clock_that_is_five_seconds_off_is_taken_as_it_is) {
  api::JobBatch late = batch(1, true);
  late.sent -= 5s;
  (void)taken(to_line(late));
  EXPECT_EQ(receiver_.stats().corrected, 0U);
}

}  // namespace
}  // namespace autopilot::job_hub::receiver_test
