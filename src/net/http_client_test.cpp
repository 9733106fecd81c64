// SPDX-License-Identifier: Apache-2.0
#include "net/http_client.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <vector>

#include "core/parse.hpp"
#include "tests/support/host/test_folder.hpp"
#include "tests/support/net/test_programs.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::net {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using ::testing::HasSubstr;
using testing::ScriptedServer;
using testing::TestServer;

HttpTarget tcp(std::uint16_t port) {
  return {"", "127.0.0.1", port};
}

HttpRequest get(const std::string& path) {
  HttpRequest request;
  request.method = "GET";
  request.path = path;
  return request;
}

Errc error_against(const std::string& answer, const ClientLimits& limits = {}) {
  const ScriptedServer server({{answer}});
  const auto response = send_request(tcp(server.port()), get("/"), limits);
  return response ? Errc::internal : response.error().code;
}

TEST(HttpTarget, reads_what_a_person_writes) {
  EXPECT_EQ(parse_target("unix:/run/a.sock")->socket_path, "/run/a.sock");
  EXPECT_EQ(parse_target("/run/a.sock")->socket_path, "/run/a.sock");
  EXPECT_EQ(to_string(*parse_target("http://localhost:3333/")), "127.0.0.1:3333");
  EXPECT_EQ(to_string(*parse_target("[::1]:3333")), "[::1]:3333");
  EXPECT_EQ(to_string(*parse_target(":3333")), "127.0.0.1:3333");
  EXPECT_FALSE(parse_target("node.example:3333"));
  EXPECT_FALSE(parse_target(""));
}

TEST(HttpClient, asks_over_both_kinds_of_socket) {
  const host::TestFolder folder;
  TestServer server;
  ASSERT_TRUE(server.server().listen_unix(folder.path() + "/socket", 0600));
  server.start();
  HttpTarget unix_target;
  unix_target.socket_path = folder.path() + "/socket";
  for (const auto& target : {tcp(server.port()), unix_target}) {
    const auto response = send_request(target, get("/hello"));
    ASSERT_TRUE(response) << response.error().what;
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(response->content_type, "text/plain");
    EXPECT_EQ(response->body, "hello\n");
  }
  HttpRequest head = get("/hello");
  head.method = "HEAD";
  EXPECT_EQ(send_request(unix_target, head)->body, "");
}

TEST(HttpClient, encodes_path_query_and_body) {
  TestServer server;
  server.server().route("POST", "/seen/{name}", [](const HttpRequest& request, Responder responder) {
    HttpResponse response;
    response.status = 202;
    response.body = request.parameters.at("name") + "|" + request.query.at("a&b") + "|" +
                    request.headers.at("x-name") + "|" + request.body;
    responder.respond(std::move(response));
  });
  server.start();
  HttpRequest request;
  request.method = "POST";
  request.path = "/seen/a b%\xc3\xa4";
  request.query["a&b"] = "c=d+e f";
  request.headers["X-Name"] = "one\r\nX-Other: two";
  request.body = std::string("\0binary", 7);
  const auto response = send_request(tcp(server.port()), request);
  ASSERT_TRUE(response) << response.error().what;
  EXPECT_EQ(response->status, 202);
  EXPECT_EQ(response->body, std::string("a b%\xc3\xa4|c=d+e f|one  X-Other: two|\0binary", 40));
}

TEST(HttpClient, any_status_is_an_answer) {
  TestServer server;
  server.start();
  const auto response = send_request(tcp(server.port()), get("/nothing"));
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 404);
  EXPECT_THAT(response->body, HasSubstr("not_found"));
}

TEST(HttpClient, says_why_nobody_answers) {
  const host::TestFolder folder;
  HttpTarget target;
  target.socket_path = folder.path() + "/socket";
  const auto missing = send_request(target, get("/"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::unavailable);
  EXPECT_THAT(missing.error().what, HasSubstr(target.socket_path));
  target.socket_path = "/" + std::string(200, 'x');
  EXPECT_EQ(send_request(target, get("/")).error().code, Errc::malformed);
  EXPECT_EQ(send_request(tcp(1), get("/")).error().code, Errc::unavailable);
}

TEST(HttpClient, gives_up_at_its_deadline) {
  const ScriptedServer server({{"HTTP/1.1 200 OK\r\nContent-Le", true}});
  ClientLimits limits;
  limits.deadline = 500ms;
  const auto response = send_request(tcp(server.port()), get("/"), limits);
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Errc::timed_out);
}

TEST(HttpClient, tells_broken_answers_apart) {
  EXPECT_EQ(error_against("SSH-2.0-OpenSSH\r\n\r\n"), Errc::malformed);
  EXPECT_EQ(error_against("HTTP/1.1 200 OK\r\n"), Errc::unavailable);
  EXPECT_EQ(error_against("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort"), Errc::unavailable);
  EXPECT_EQ(error_against(""), Errc::unavailable);
  ClientLimits limits;
  limits.body_bytes = 10;
  EXPECT_EQ(error_against("HTTP/1.1 200 OK\r\n\r\n" + std::string(11, 'x'), limits), Errc::exhausted);
  EXPECT_EQ(error_against("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n", limits), Errc::exhausted);
  limits.header_bytes = 100;
  EXPECT_EQ(error_against("HTTP/1.1 200 OK\r\nX: " + std::string(200, 'x'), limits), Errc::exhausted);
}

TEST(HttpClient, reads_answers_without_a_length_and_in_chunks) {
  const ScriptedServer open_end({{"HTTP/1.0 200 OK\r\n\r\nuntil the end"}});
  EXPECT_EQ(send_request(tcp(open_end.port()), get("/"))->body, "until the end");
  const ScriptedServer chunked(
      {{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n", true}});
  EXPECT_EQ(send_request(tcp(chunked.port()), get("/"))->body, "abc");
}

TEST(HttpClient, asks_a_server_not_written_here) {
  if (!testing::has_program("python3")) GTEST_SKIP() << "python3 is not installed";
  const host::TestFolder folder;
  const std::string script =
      "import http.server, sys, os\n"
      "os.chdir('" +
      folder.path() +
      "')\n"
      "open('file.txt', 'w').write('from python')\n"
      "s = http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)\n"
      "print(s.server_port, flush=True)\n"
      "s.handle_request()\n";
  testing::Program python({"python3", "-c", script});
  const auto port = parse_number<std::uint16_t>(python.read_line());
  ASSERT_TRUE(port);
  const auto response = send_request(tcp(*port), get("/file.txt"));
  ASSERT_TRUE(response) << response.error().what;
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, "from python");
}

class FollowTest : public ::testing::Test {
 protected:
  FollowTest() {
    server_.server().route("GET", "/events", [this](const HttpRequest& request, Responder responder) {
      const auto last = request.headers.find("last-event-id");
      int id = last == request.headers.end() ? 0 : std::stoi(last->second);
      stream_ = responder.stream();
      for (int i = 0; i < 3; ++i) {
        ++id;
        stream_.send({std::to_string(id), "counted", "{}"});
      }
    });
    server_.start();
  }

  TestServer server_;
  EventStream stream_;  // on the loop's thread
  std::atomic<bool> stop_{false};
};

TEST_F(FollowTest, goes_on_where_it_was_until_the_caller_has_enough) {
  FollowOptions options;
  options.last_event_id = "40";
  std::vector<std::string> seen;
  const auto status = follow(
      tcp(server_.port()), get("/events"), options,
      [&](const ServerEvent& event) {
        seen.push_back(event.id + event.event);
        return seen.size() < 3;
      },
      stop_);
  EXPECT_TRUE(status);
  EXPECT_EQ(seen, (std::vector<std::string>{"41counted", "42counted", "43counted"}));
}

TEST_F(FollowTest, stops_when_told_from_elsewhere) {
  std::atomic<int> seen{0};
  std::thread stopper([&] {
    EXPECT_TRUE(eventually([&] { return seen == 3; }));
    stop_ = true;
  });
  EXPECT_TRUE(follow(
      tcp(server_.port()), get("/events"), {}, [&](const ServerEvent&) { return ++seen > 0; }, stop_));
  stopper.join();
}

TEST_F(FollowTest, says_that_the_stream_ended_or_never_was) {
  const auto ended = follow(
      tcp(server_.port()), get("/events"), {},
      [&](const ServerEvent&) {
        server_.loop().post([&] { stream_.close(); });
        return true;
      },
      stop_);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, Errc::unavailable);
  const auto refused = follow(
      tcp(server_.port()), get("/hello"), {}, [](const ServerEvent&) { return true; }, stop_);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("instead of an event stream"));
}

TEST_F(FollowTest, notices_silence) {
  FollowOptions options;
  options.silence_deadline = 300ms;
  const auto silent = follow(
      tcp(server_.port()), get("/events"), options, [](const ServerEvent&) { return true; }, stop_);
  ASSERT_FALSE(silent);
  EXPECT_THAT(silent.error().what, HasSubstr("sent nothing"));
}

}  // namespace
}  // namespace autopilot::net
