// SPDX-License-Identifier: Apache-2.0
#include "agent/jobs/record_feed.hpp"

#include <algorithm>
#include <atomic>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/support/net/test_server.hpp"

namespace autopilot::agent::record_feed_test {
namespace {

using namespace std::chrono_literals;
using net::testing::eventually;
using net::testing::RawClient;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr WallTime kTime{1767225600s};
constexpr std::string_view kDropped = "event: dropped\ndata: {\"records\":";
constexpr std::size_t kTail = 8192;  // where a new event is looked for

jobs::Record job_on(const std::string& job, const std::string& node) {
  jobs::JobRecord record{.time = kTime, .job = job, .name = job};
  record.ranks.push_back({.rank = 0, .node = node});
  return record;
}

jobs::Record beat_of(const std::string& job, int rank = 0) {
  return jobs::HeartbeatRecord{.time = kTime, .job = job, .rank = rank};
}

jobs::Record xid_of(const std::string& node) {
  return jobs::XidRecord{.time = kTime, .node = node, .xid = 79};
}

// About 20 KiB as a line.
jobs::Record large_window() {
  jobs::WindowRecord window{.time = kTime, .length = 10s, .node = "n0"};
  constexpr std::size_t processes = 512;
  jobs::Column cpu{jobs::Metric::process_cpu, std::vector<float>(processes, 0.123456F)};
  for (std::size_t i = 0; i < processes; ++i)
    window.processes.push_back({"ml/a-job-with-a-long-name", static_cast<int>(i)});
  window.columns = {std::move(cpu)};
  return window;
}

// A feed that the test's thread drives, behind a real server.
class RecordFeedTest : public ::testing::Test {
 protected:
  void SetUp() override { serve({}); }
  void serve(net::ServerLimits limits) {
    server_ = std::make_unique<net::testing::TestServer>(limits);
    server_->server().route("GET", "/records", [this](const net::HttpRequest&, net::Responder responder) {
      const std::lock_guard lock(mutex_);
      opened_.push_back(responder.stream());
    });
    server_->start();
  }
  // The feed's streams end before their server.
  void TearDown() override {
    feed_ = RecordFeed();
    opened_.clear();
    server_.reset();
  }
  [[nodiscard]] RawClient connect() const {
    RawClient client(server_->port());
    client.send("GET /records HTTP/1.1\r\nHost: localhost\r\n\r\n");
    return client;
  }
  // The stream of the last client.
  net::EventStream stream() {
    EXPECT_TRUE(eventually([this] {
      const std::lock_guard lock(mutex_);
      return !opened_.empty();
    }));
    const std::lock_guard lock(mutex_);
    net::EventStream last = std::move(opened_.back());
    opened_.pop_back();
    return last;
  }

  std::mutex mutex_;
  std::vector<net::EventStream> opened_;
  std::unique_ptr<net::testing::TestServer> server_;
  RecordFeed feed_;
};

TEST_F(RecordFeedTest, a_follower_gets_what_is_present_and_then_what_comes) {
  RawClient client = connect();
  ASSERT_TRUE(feed_.follow(stream(), "", {job_on("a", "n0")}));
  feed_.add({beat_of("b", 7)});
  const std::string text = client.read_until("\"rank\":7");
  EXPECT_LT(text.find("\"type\":\"job\""), text.find("\"rank\":7"));
  EXPECT_THAT(text, HasSubstr("event: record\n"));
}

TEST_F(RecordFeedTest, a_follower_of_a_job_gets_its_records_and_those_of_its_nodes) {
  RawClient client = connect();
  ASSERT_TRUE(feed_.follow(stream(), "a", {xid_of("n0"), job_on("a", "n0"), job_on("b", "n1")}));
  feed_.add({xid_of("n1"), beat_of("b"), beat_of("a", 7)});
  const std::string text = client.read_until("\"rank\":7");
  EXPECT_THAT(text, HasSubstr("\"node\":\"n0\""));
  EXPECT_THAT(text, Not(HasSubstr("n1")));
  EXPECT_THAT(text, Not(HasSubstr("\"b\"")));
}

TEST_F(RecordFeedTest, a_client_that_goes_makes_room_and_further_ones_are_refused) {
  std::vector<RawClient> clients;
  for (std::size_t i = 0; i < RecordFeed::kMostFollowers; ++i) {
    clients.push_back(connect());
    ASSERT_TRUE(feed_.follow(stream(), "", {}));
  }
  RawClient refused = connect();
  EXPECT_EQ(feed_.follow(stream(), "", {}).error().code, Errc::exhausted);
  EXPECT_THAT(refused.read_to_end(), Not(HasSubstr("event:")));
  clients.pop_back();
  EXPECT_TRUE(eventually([this] {
    feed_.add({beat_of("a")});
    return feed_.size() == RecordFeed::kMostFollowers - 1;
  }));
  RawClient later = connect();
  EXPECT_TRUE(feed_.follow(stream(), "", {}));
}

TEST_F(RecordFeedTest, a_client_that_reads_slowly_misses_windows_and_is_told_how_many) {
  server_.reset();
  serve({.stream_queue_bytes = std::size_t{256} << 10, .write_deadline = 60s});
  RawClient client = connect();
  ASSERT_TRUE(feed_.follow(stream(), "", {}));
  // More than the queue and the buffers of the kernel hold.
  const std::vector<jobs::Record> windows(20, large_window());
  for (int i = 0; i < 60; ++i)
    feed_.add(windows);
  ASSERT_EQ(feed_.size(), 1U) << "windows can wait: the stream is not cut";
  std::atomic<bool> is_told = false;
  std::thread reader([&] {
    const std::string text = client.read_until([](const std::string& got) {
      return got.find(kDropped, got.size() - std::min(got.size(), kTail)) < got.size();
    });
    is_told = text.find(kDropped) != std::string::npos;
  });
  EXPECT_TRUE(eventually([&] {
    feed_.add({beat_of("a")});
    return is_told.load();
  }));
  reader.join();
}

TEST_F(RecordFeedTest, a_client_that_does_not_read_at_all_is_disconnected) {
  server_.reset();
  serve({.stream_queue_events = 64, .write_deadline = 60s});
  RawClient client = connect();
  client.shrink_receive_buffer();
  ASSERT_TRUE(feed_.follow(stream(), "", {}));
  jobs::LogRecord log{.time = kTime, .job = "a", .rank = 0, .text = std::string(4096, 'x')};
  EXPECT_TRUE(eventually([&] {
    feed_.add(std::vector<jobs::Record>(32, log));
    return feed_.size() == 0;
  }));
}

TEST_F(RecordFeedTest, a_record_that_is_too_long_is_left_out_and_counted) {
  RawClient client = connect();
  ASSERT_TRUE(feed_.follow(stream(), "", {}));
  jobs::JobRecord large{.time = kTime, .job = "large", .name = "large"};
  for (int rank = 0; rank < 8192; ++rank)
    large.ranks.push_back({.rank = rank, .node = "node-with-a-long-name-" + std::to_string(rank)});
  feed_.add({large, beat_of("a", 7)});
  const std::string text = client.read_until("\"rank\":7");
  EXPECT_THAT(text, HasSubstr("event: dropped\ndata: {\"records\":1}"));
  EXPECT_THAT(text, Not(HasSubstr("node-with-a-long-name")));
}

}  // namespace
}  // namespace autopilot::agent::record_feed_test
