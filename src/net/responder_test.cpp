// SPDX-License-Identifier: Apache-2.0

#include "net/responder.hpp"

#include <atomic>
#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/host/test_folder.hpp"
#include "tests/support/net/test_programs.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::net {

namespace {

using namespace std::chrono_literals;
using ::testing::EndsWith;
using testing::eventually;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::TestServer;

const std::string kFollow = "GET /events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n";

// A server with one stream at /events, held by the test.
class EventStreamTest : public ::testing::Test {
 protected:
  void start(ServerLimits limits = {}) {
    server_ = std::make_unique<TestServer>(limits);
    server_->server().route("GET", "/events", [this](const HttpRequest& request, Responder responder) {
      EventStream stream = responder.stream();
      stream.on_close([this] { ++closed_; });
      const auto last = request.headers.find("last-event-id");
      if (last != request.headers.end()) stream.send({"", "resumed", last->second});
      const std::lock_guard lock(mutex_);
      stream_ = std::move(stream);
      ++opened_;
    });
    server_->start();
  }
  void TearDown() override {
    server_.reset();
    kept_.clear();
    stream_ = EventStream();
  }
  bool send(const ServerEvent& event) {
    const std::lock_guard lock(mutex_);
    return stream_.send(event);
  }

  std::mutex mutex_;
  EventStream stream_;
  std::vector<EventStream> kept_;  // of tests with several
  std::atomic<int> opened_{0};
  std::atomic<int> closed_{0};
  std::unique_ptr<TestServer> server_;
};

TEST_F(EventStreamTest, sends_events_as_they_come_from_any_thread) {
  start();
  auto client = server_->connect();
  client.send(kFollow);
  EXPECT_THAT(client.read_until("\r\n\r\n"), HasSubstr("Content-Type: text/event-stream\r\n"));
  ASSERT_TRUE(eventually([&] { return opened_ == 1; }));
  EXPECT_TRUE(send({"7", "finding_raised", "{\"a\":1}\n{\"b\":2}"}));
  EXPECT_EQ(client.read_until("\n\n"), "id: 7\nevent: finding_raised\ndata: {\"a\":1}\ndata: {\"b\":2}\n\n");
  EXPECT_TRUE(eventually([&] { return server_->stats().events_sent == 1; }));
  EXPECT_EQ(server_->stats().streams_open, 1U);
}

TEST_F(EventStreamTest, tells_the_handler_where_the_client_was) {
  start();
  auto client = server_->connect();
  client.send("GET /events HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: 41\r\n\r\n");
  EXPECT_THAT(client.read_until("\n\n"), StartsWith("HTTP/1.1 200 OK"));
  EXPECT_TRUE(eventually([&] { return server_->stats().events_sent == 1; }));
}

TEST_F(EventStreamTest, comments_keep_a_quiet_stream_alive) {
  ServerLimits limits;
  limits.keep_alive = 10ms;
  start(limits);
  auto client = server_->connect();
  client.send(kFollow);
  EXPECT_THAT(client.read_until(":\n\n:\n\n"), HasSubstr(":\n\n:\n\n"));
}

TEST_F(EventStreamTest, the_end_of_the_client_is_noticed_without_sending) {
  start();
  {
    auto client = server_->connect();
    client.send(kFollow);
    ASSERT_TRUE(eventually([&] { return server_->stats().streams_open == 1; }));
  }
  EXPECT_TRUE(eventually([&] { return closed_ == 1; }));
  EXPECT_FALSE(send({"1", "x", "y"}));
  EXPECT_EQ(server_->stats().streams_open, 0U);
}

TEST_F(EventStreamTest, dropping_the_stream_sends_what_is_queued_and_closes) {
  start();
  auto client = server_->connect();
  client.send(kFollow);
  ASSERT_TRUE(eventually([&] { return opened_ == 1; }));
  {
    const std::lock_guard lock(mutex_);
    stream_.send({"1", "", "last words"});
    stream_ = EventStream();
  }
  EXPECT_THAT(client.read_to_end(), EndsWith("id: 1\ndata: last words\n\n"));
}

TEST_F(EventStreamTest, a_client_that_does_not_read_is_cut) {
  ServerLimits limits;
  limits.stream_queue_bytes = 100'000;
  start(limits);
  auto client = server_->connect();
  client.shrink_receive_buffer();
  client.send(kFollow);
  ASSERT_TRUE(eventually([&] { return opened_ == 1; }));
  const std::string data(10'000, 'x');
  EXPECT_TRUE(eventually([&] { return !send({"1", "big", data}); }));
  EXPECT_TRUE(eventually([&] { return closed_ == 1; }));
  EXPECT_EQ(server_->stats().streams_cut, 1U);
  EXPECT_TRUE(eventually([&] { return server_->stats().connections_open == 0; }));
}

TEST_F(EventStreamTest, a_burst_beyond_the_number_of_events_is_cut_too) {
  ServerLimits limits;
  limits.stream_queue_events = 10;
  start(limits);
  auto client = server_->connect();
  client.send(kFollow);
  ASSERT_TRUE(eventually([&] { return opened_ == 1; }));
  std::atomic<bool> is_cut{false};
  server_->loop().post([&] {  // on the loop, so that nothing is taken meanwhile
    for (int i = 0; i < 11; ++i)
      is_cut = !send({"1", "x", "y"});
  });
  EXPECT_TRUE(eventually([&] { return is_cut.load(); }));
  EXPECT_EQ(server_->stats().streams_cut, 1U);
}

TEST_F(EventStreamTest, a_mebibyte_may_be_unread_and_no_more) {
  start();
  auto client = server_->connect();
  client.send(kFollow);
  ASSERT_TRUE(eventually([&] { return opened_ == 1; }));
  const ServerEvent event{"", "", std::string(10'000, 'x')};
  std::size_t accepted = 0;
  std::size_t with_room = 0;
  std::atomic<bool> is_cut{false};
  server_->loop().post([&] {  // on the loop, so that nothing is taken meanwhile
    for (; send(event); ++accepted) {
      const std::lock_guard lock(mutex_);
      if (stream_.has_room()) ++with_room;
    }
    is_cut = true;
  });
  ASSERT_TRUE(eventually([&] { return is_cut.load(); }));
  EXPECT_EQ(accepted, 1024 * 1024 / 10'008);  // with "data: " and two line ends
  EXPECT_EQ(with_room, 1024 * 1024 / 2 / 10'008);
  EXPECT_EQ(server_->stats().streams_cut, 1U);
  const std::lock_guard lock(mutex_);
  EXPECT_TRUE(stream_.has_room());  // nothing waits for who is gone
}

TEST_F(EventStreamTest, streams_beyond_the_limit_are_refused) {
  ServerLimits limits;
  limits.event_streams = 1;
  start(limits);
  auto first = server_->connect();
  first.send(kFollow);
  ASSERT_TRUE(eventually([&] { return server_->stats().streams_open == 1; }));
  EventStream kept;
  {
    const std::lock_guard lock(mutex_);
    kept = std::move(stream_);
  }
  auto second = server_->connect();
  second.send(kFollow);
  EXPECT_THAT(second.read_until("}}\n"), StartsWith("HTTP/1.1 503 "));
  EXPECT_TRUE(eventually([&] { return closed_ == 1; }));
  EXPECT_EQ(server_->stats().streams_refused, 1U);
  EXPECT_TRUE(kept.is_open());
}

TEST_F(EventStreamTest, streams_of_the_network_leave_some_to_the_unix_socket) {
  const host::TestFolder folder;
  ServerLimits limits;
  limits.event_streams = 4;
  start(limits);
  std::atomic<bool> is_listening{false};
  server_->loop().post([&] {
    server_->server().route("GET", "/kept", [this](const HttpRequest&, Responder responder) {
      const std::lock_guard lock(mutex_);
      kept_.push_back(responder.stream());
    });
    is_listening = server_->server().listen_unix(folder.path() + "/socket", 0600).has_value();
  });
  ASSERT_TRUE(eventually([&] { return is_listening.load(); }));
  const std::string keep = "GET /kept HTTP/1.1\r\nHost: localhost\r\n\r\n";
  std::vector<testing::RawClient> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(server_->connect());
    clients.back().send(keep);
  }
  EXPECT_TRUE(eventually(
      [&] { return server_->stats().streams_open == 3 && server_->stats().streams_refused == 1; }));
  auto local = testing::RawClient::at(folder.path() + "/socket");
  local.send(keep);
  EXPECT_THAT(local.read_until("\r\n\r\n"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(EventStreamTest, a_graceful_stop_ends_streams_after_their_last_event) {
  start();
  auto client = server_->connect();
  client.send(kFollow);
  ASSERT_TRUE(eventually([&] { return server_->stats().streams_open == 1; }));
  std::atomic<bool> is_done{false};
  server_->loop().post([&] {
    send({"9", "agent_stopped", "{}"});
    server_->server().stop(10s, [&] { is_done = true; });
  });
  EXPECT_THAT(client.read_to_end(), EndsWith("id: 9\nevent: agent_stopped\ndata: {}\n\n"));
  EXPECT_TRUE(eventually([&] { return is_done.load(); }));
  EXPECT_EQ(closed_, 1);
}

TEST_F(EventStreamTest, many_senders_and_a_leaving_client_do_not_disturb_each_other) {
  start();
  for (int round = 0; round < 5; ++round) {
    const int opened = opened_;
    auto client = server_->connect();
    client.send(kFollow);
    ASSERT_TRUE(eventually([&] { return opened_ > opened; }));
    std::thread first([&] {
      for (int i = 0; i < 200; ++i)
        send({"1", "a", "b"});
    });
    std::thread second([&] {
      for (int i = 0; i < 200; ++i)
        send({"2", "c", "d"});
    });
    EXPECT_THAT(client.read_until("data: "), HasSubstr("data: "));
    first.join();
    second.join();
  }
}

TEST_F(EventStreamTest, curl_follows) {
  if (!testing::has_program("curl")) GTEST_SKIP() << "curl is not installed";
  start();
  std::thread sender([&] {
    ASSERT_TRUE(eventually([&] { return opened_ == 1; }));
    send({"1", "first", "one"});
    send({"2", "second", "two"});
    const std::lock_guard lock(mutex_);
    stream_.close();
  });
  const std::string url = "http://localhost:" + std::to_string(server_->port()) + "/events";
  const auto text = testing::run_program({"curl", "-sN", "-H", "Last-Event-ID: 40", url});
  sender.join();
  EXPECT_EQ(
      text,
      "event: resumed\ndata: 40\n\nid: 1\nevent: first\ndata: one\n\nid: 2\nevent: second\ndata: two\n\n");
}

}  // namespace

}  // namespace autopilot::net
