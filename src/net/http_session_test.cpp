// SPDX-License-Identifier: Apache-2.0
#include "net/http_session.hpp"

#include <atomic>
#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/net/test_server.hpp"

namespace autopilot::net {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using testing::ScriptedServer;
using testing::TestServer;

ServerUrl local(std::uint16_t port) {
  return {false, "127.0.0.1", port, ""};
}

HttpRequest request(const std::string& method, const std::string& path, const std::string& body = "") {
  HttpRequest made;
  made.method = method;
  made.path = path;
  made.body = body;
  return made;
}

class HttpSessionTest : public ::testing::Test {
 protected:
  // Runs the loop until `done`; false when patience ended first.
  bool run_until(const bool& done) {
    const auto patience = loop_.after(testing::kPatience, [this] { loop_.stop(); });
    const auto look = loop_.every(1ms, [&] {
      if (done) loop_.stop();
    });
    loop_.run();
    return done;
  }
  Result<HttpResponse> ask(HttpSession& session, HttpRequest what, Duration deadline = 20s) {
    std::optional<Result<HttpResponse>> answer;
    bool done = false;
    const Exchange exchange = session.send(std::move(what), deadline, [&](Result<HttpResponse> one) {
      answer = std::move(one);
      done = true;
    });
    if (!run_until(done)) return fail(Errc::internal, "the session never answered");
    return *std::move(answer);
  }

  EventLoop loop_;
};

TEST_F(HttpSessionTest, asks_again_and_again_over_one_connection) {
  TestServer server;
  server.start();
  HttpSession session(loop_, local(server.port()), nullptr);
  for (int i = 0; i < 5; ++i) {
    const auto hello = ask(session, request("GET", "/hello"));
    ASSERT_TRUE(hello) << hello.error().what;
    EXPECT_EQ(hello->body, "hello\n");
    EXPECT_EQ(hello->content_type, "text/plain");
    EXPECT_EQ(ask(session, request("POST", "/echo", std::to_string(i)))->body, std::to_string(i));
  }
  EXPECT_EQ(ask(session, request("HEAD", "/hello"))->body, "");
  EXPECT_EQ(ask(session, request("GET", "/nothing"))->status, 404);
  EXPECT_EQ(server.stats().connections_accepted, 1U);
}

TEST_F(HttpSessionTest, puts_the_path_of_the_url_in_front) {
  TestServer server;
  server.start();
  ServerUrl url = local(server.port());
  url.path = "/hel";
  HttpSession session(loop_, url, nullptr);
  EXPECT_EQ(ask(session, request("GET", "lo"))->body, "hello\n");
}

TEST_F(HttpSessionTest, notices_that_a_kept_connection_was_closed) {
  ServerLimits limits;
  limits.idle_deadline = 50ms;
  TestServer server(limits);
  server.start();
  HttpSession session(loop_, local(server.port()), nullptr);
  EXPECT_EQ(ask(session, request("POST", "/echo", "a"))->body, "a");
  ASSERT_TRUE(testing::eventually([&] { return server.stats().connections_open == 0; }));
  // It would not be sent twice.
  EXPECT_EQ(ask(session, request("POST", "/echo", "b"))->body, "b");
  EXPECT_EQ(server.stats().connections_accepted, 2U);
}

TEST_F(HttpSessionTest, lets_a_kept_connection_go_in_time) {
  TestServer server;
  server.start();
  SessionLimits limits;
  limits.keep_for = 20ms;
  HttpSession session(loop_, local(server.port()), nullptr, limits);
  EXPECT_TRUE(ask(session, request("GET", "/hello")));
  const auto look = loop_.every(2ms, [&] {
    if (server.stats().connections_open == 0) loop_.stop();
  });
  const auto patience = loop_.after(testing::kPatience, [this] { loop_.stop(); });
  loop_.run();
  EXPECT_EQ(server.stats().connections_open, 0U);
}

TEST_F(HttpSessionTest, a_deadline_ends_an_exchange) {
  const ScriptedServer server({{"HTTP/1.1 200 OK\r\nContent-Le", true}});
  HttpSession session(loop_, local(server.port()), nullptr);
  const auto answer = ask(session, request("GET", "/"), 100ms);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::timed_out);
  EXPECT_THAT(answer.error().what, HasSubstr("http://127.0.0.1:" + std::to_string(server.port())));
}

TEST_F(HttpSessionTest, tells_broken_answers_apart) {
  const auto error_of = [&](const std::string& text, SessionLimits limits = {}) {
    const ScriptedServer server({{text}});
    HttpSession session(loop_, local(server.port()), nullptr, limits);
    const auto answer = ask(session, request("GET", "/"));
    return answer ? Errc::internal : answer.error().code;
  };
  EXPECT_EQ(error_of("SSH-2.0-OpenSSH\r\n\r\n"), Errc::malformed);
  EXPECT_EQ(error_of(""), Errc::unavailable);
  EXPECT_EQ(error_of("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort"), Errc::unavailable);
  SessionLimits limits;
  limits.body_bytes = 10;
  EXPECT_EQ(error_of("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n", limits), Errc::exhausted);
  limits.header_bytes = 100;
  EXPECT_EQ(error_of("HTTP/1.1 200 OK\r\nX: " + std::string(200, 'x'), limits), Errc::exhausted);
}

TEST_F(HttpSessionTest, says_that_nobody_listens) {
  HttpSession session(loop_, local(1), nullptr);
  const auto answer = ask(session, request("GET", "/"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::unavailable);
  HttpSession nameless(loop_, {false, "no-such-host.invalid", 80, ""}, nullptr);
  const auto unknown = ask(nameless, request("GET", "/"));
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Errc::unavailable);
  EXPECT_THAT(unknown.error().what, HasSubstr("no-such-host.invalid"));
}

TEST_F(HttpSessionTest, an_exchange_that_was_cancelled_says_nothing) {
  const ScriptedServer server({{"HTTP/1.1 200 OK\r\n", true}});
  HttpSession session(loop_, local(server.port()), nullptr);
  bool is_told = false;
  Exchange exchange = session.send(request("GET", "/"), 20s, [&](const auto&) { is_told = true; });
  EXPECT_TRUE(exchange.is_active());
  const auto look = loop_.every(1ms, [&] {
    if (!server.requests().empty()) loop_.stop();
  });
  loop_.run();
  exchange.cancel();
  EXPECT_FALSE(exchange.is_active());
  const auto later = loop_.after(20ms, [this] { loop_.stop(); });
  loop_.run();
  EXPECT_FALSE(is_told);
}

TEST_F(HttpSessionTest, may_end_while_it_is_asked) {
  const ScriptedServer server({{"HTTP/1.1 200 OK\r\n", true}});
  bool is_told = false;
  auto session = std::make_unique<HttpSession>(loop_, local(server.port()), nullptr);
  const Exchange exchange = session->send(request("GET", "/"), 20s, [&](const auto&) { is_told = true; });
  const auto look = loop_.every(1ms, [&] {
    if (!server.requests().empty()) loop_.stop();
  });
  loop_.run();
  session.reset();
  const auto later = loop_.after(20ms, [this] { loop_.stop(); });
  loop_.run();
  EXPECT_FALSE(is_told);
  EXPECT_FALSE(exchange.is_active());
}

TEST_F(HttpSessionTest, refuses_more_at_once_than_it_may) {
  const ScriptedServer server({{"HTTP/1.1 200 OK\r\n", true}});
  SessionLimits limits;
  limits.connections = 1;
  HttpSession session(loop_, local(server.port()), nullptr, limits);
  const Exchange first = session.send(request("GET", "/"), 20s, [](const auto&) {});
  const auto second = ask(session, request("GET", "/"));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::exhausted);
}

struct Streamed {
  std::optional<int> status;
  std::string bytes;
  std::optional<Status> end;
  bool is_over = false;

  StreamHandler handler() {
    return {[this](const HttpResponse& head) { status = head.status; },
            [this](std::string_view some) { bytes += some; },
            [this](Status how) {
              end = std::move(how);
              is_over = true;
            }};
  }
};

TEST_F(HttpSessionTest, streams_an_answer_to_its_end) {
  const ScriptedServer server(
      {{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"}});
  HttpSession session(loop_, local(server.port()), nullptr);
  Streamed seen;
  const Exchange exchange = session.stream(request("GET", "/"), 20s, 20s, seen.handler());
  ASSERT_TRUE(run_until(seen.is_over));
  EXPECT_EQ(seen.status, 200);
  EXPECT_EQ(seen.bytes, "abc");
  EXPECT_TRUE(seen.end->has_value());
}

TEST_F(HttpSessionTest, says_that_a_stream_was_cut_or_went_silent) {
  const std::string begun = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n";
  for (const bool closes : {true, false}) {
    const ScriptedServer server({{begun, !closes}});
    HttpSession session(loop_, local(server.port()), nullptr);
    Streamed seen;
    const Exchange exchange = session.stream(request("GET", "/"), 20s, closes ? 20s : 50ms, seen.handler());
    ASSERT_TRUE(run_until(seen.is_over));
    EXPECT_EQ(seen.bytes, "ab");
    ASSERT_FALSE(seen.end->has_value());
    EXPECT_EQ(seen.end->error().code, closes ? Errc::unavailable : Errc::timed_out);
  }
}

TEST_F(HttpSessionTest, a_stream_may_be_cancelled_from_within) {
  const ScriptedServer server({{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", true}});
  HttpSession session(loop_, local(server.port()), nullptr);
  bool is_over = false;
  bool is_told = false;
  Exchange exchange;
  exchange = session.stream(request("GET", "/"), 20s, 20s,
                            {[](const HttpResponse&) {},
                             [&](std::string_view) {
                               exchange.cancel();
                               is_over = true;
                             },
                             [&](const Status&) { is_told = true; }});
  ASSERT_TRUE(run_until(is_over));
  const auto later = loop_.after(20ms, [this] { loop_.stop(); });
  loop_.run();
  EXPECT_FALSE(is_told);
}

}  // namespace
}  // namespace autopilot::net
