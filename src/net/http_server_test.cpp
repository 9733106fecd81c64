// SPDX-License-Identifier: Apache-2.0
#include "net/http_server.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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
using ::testing::Not;
using testing::RawClient;
using ::testing::StartsWith;
using testing::TestServer;

const std::string kHello = "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n";
const std::string kHelloAndClose = "GET /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(HttpServer, answers_and_keeps_the_connection) {
  TestServer server;
  server.start();
  auto client = server.connect();
  for (int i = 0; i < 3; ++i) {
    client.send(kHello);
    const auto text = client.read_until("hello\n");
    EXPECT_THAT(text, StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(text, HasSubstr("Content-Length: 6\r\n"));
    EXPECT_THAT(text, Not(HasSubstr("Connection: close")));
  }
  EXPECT_EQ(server.stats().connections_accepted, 1U);
  EXPECT_EQ(server.stats().responses_2xx, 3U);
}

TEST(HttpServer, answers_pipelined_requests_in_order) {
  TestServer server;
  server.start();
  const auto text = server.ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nfirst" +
                               kHello + kHelloAndClose);
  EXPECT_LT(text.find("first"), text.find("hello"));
  EXPECT_EQ(count_of(text, "HTTP/1.1 200 OK"), 3U);
}

TEST(HttpServer, a_half_closed_client_gets_its_answer) {
  TestServer server;
  server.start();
  auto client = server.connect();
  client.send(kHello);
  client.half_close();
  EXPECT_THAT(client.read_to_end(), EndsWith("hello\n"));
}

TEST(HttpServer, answers_head_without_the_body) {
  TestServer server;
  server.start();
  const auto text = server.ask("HEAD /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(text, HasSubstr("Content-Length: 6\r\n"));
  EXPECT_THAT(text, EndsWith("\r\n\r\n"));
}

TEST(HttpServer, speaks_http_1_0) {
  TestServer server;
  server.start();
  EXPECT_THAT(server.ask("GET /hello HTTP/1.0\r\n\r\n"), EndsWith("hello\n"));
  auto client = server.connect();
  client.send("GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_THAT(client.read_until("hello\n"), HasSubstr("Connection: keep-alive"));
  client.send(kHelloAndClose);
  EXPECT_THAT(client.read_to_end(), EndsWith("hello\n"));
}

TEST(HttpServer, says_in_json_what_is_not_there_and_what_is_not_allowed) {
  TestServer server;
  server.start();
  const auto missing =
      server.ask("GET /%22quoted%22%01 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(missing, StartsWith("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_THAT(missing,
              HasSubstr(R"({"error":{"code":"not_found","message":"not found: /\"quoted\"\u0001"}})"));
  const auto method = server.ask("DELETE /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(method, StartsWith("HTTP/1.1 405 Method Not Allowed\r\n"));
  EXPECT_THAT(method, HasSubstr("Allow: GET, HEAD\r\n"));
}

TEST(HttpServer, gives_a_waiting_client_leave_to_send_its_body) {
  TestServer server;
  server.start();
  auto client = server.connect();
  client.send(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nExpect: 100-continue\r\nConnection: "
      "close\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("body");
  EXPECT_THAT(client.read_to_end(), EndsWith("body"));
}

TEST(HttpServer, refuses_garbage) {
  TestServer server;
  server.start();
  using namespace std::string_literals;
  EXPECT_THAT(server.ask("\x16\x03\x01\x02\0 hello\r\n\r\n"s), StartsWith("HTTP/1.1 400 Bad Request\r\n"));
  EXPECT_THAT(server.ask("GET / HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 400 Bad Request\r\n"));
  EXPECT_EQ(server.stats().requests_malformed, 2U);
}

TEST(HttpServer, refuses_a_header_that_is_too_large) {
  ServerLimits limits;
  limits.header_bytes = 1024;
  TestServer server(limits);
  server.start();
  const auto text =
      server.ask("GET /hello HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n");
  EXPECT_THAT(text, StartsWith("HTTP/1.1 431 "));
  EXPECT_EQ(server.stats().headers_too_large, 1U);
}

TEST(HttpServer, refuses_a_body_that_is_too_large_without_reading_it) {
  ServerLimits limits;
  limits.body_bytes = 1000;
  TestServer server(limits);
  server.start();
  const std::string head = "POST /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: ";
  EXPECT_THAT(server.ask(head + "1000\r\n\r\n" + std::string(1000, 'x')), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(server.ask(head + "1001\r\n\r\n"), StartsWith("HTTP/1.1 413 "));
  EXPECT_EQ(server.stats().bodies_too_large, 1U);
}

TEST(HttpServer, cuts_a_client_that_sends_too_slowly) {
  ServerLimits limits;
  limits.read_deadline = 100ms;
  TestServer server(limits);
  server.start();
  auto client = server.connect();
  client.send("GET /hello HTTP/1.1\r\nHost: loc");
  EXPECT_THAT(client.read_to_end(), StartsWith("HTTP/1.1 408 Request Timeout\r\n"));
  auto body = server.connect();
  body.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf");
  EXPECT_THAT(body.read_to_end(), StartsWith("HTTP/1.1 408 Request Timeout\r\n"));
  EXPECT_EQ(server.stats().slow_senders_cut, 2U);
}

TEST(HttpServer, drips_do_not_extend_the_read_deadline) {
  ServerLimits limits;
  limits.read_deadline = 200ms;
  TestServer server(limits);
  server.start();
  auto client = server.connect();
  std::atomic<bool> is_over{false};
  std::thread dripper([&] {
    client.send("GET /hello HTTP/1.1\r\nX: ");
    while (!is_over && client.send("x"))
      std::this_thread::sleep_for(5ms);
  });
  EXPECT_TRUE(eventually([&] { return server.stats().slow_senders_cut == 1; }));
  is_over = true;
  dripper.join();
}

TEST(HttpServer, closes_idle_connections) {
  ServerLimits limits;
  limits.idle_deadline = 50ms;
  TestServer server(limits);
  server.start();
  auto silent = server.connect();
  EXPECT_EQ(silent.read_to_end(), "");
  EXPECT_EQ(server.stats().idle_closed, 1U);
  // After an answer too; on a busy machine the request itself may come too late.
  EXPECT_TRUE(eventually([&] { return server.ask(kHello).ends_with("hello\n"); }));
  EXPECT_GE(server.stats().idle_closed, 2U);
  EXPECT_TRUE(eventually([&] { return server.stats().connections_open == 0; }));
}

TEST(HttpServer, cuts_a_client_that_does_not_read_its_answer) {
  ServerLimits limits;
  limits.write_deadline = 100ms;
  limits.buffered_bytes = std::size_t{128} << 20;
  TestServer server(limits);
  server.server().route("GET", "/big", [](const HttpRequest&, Responder responder) {
    HttpResponse response;
    response.body.assign(64U << 20, 'x');
    responder.respond(std::move(response));
  });
  server.start();
  auto client = server.connect();
  client.shrink_receive_buffer();
  client.send("GET /big HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_TRUE(eventually([&] { return server.stats().slow_readers_cut == 1; }));
  EXPECT_TRUE(eventually([&] { return server.stats().connections_open == 0; }));
}

TEST(HttpServer, closes_after_the_last_allowed_request) {
  ServerLimits limits;
  limits.requests_per_connection = 2;
  TestServer server(limits);
  server.start();
  const auto text = server.ask(kHello + kHello + kHello);
  EXPECT_EQ(count_of(text, "HTTP/1.1 200 OK"), 2U);
  EXPECT_EQ(count_of(text, "Connection: close"), 1U);
  EXPECT_EQ(server.stats().requests_exhausted, 1U);
}

TEST(HttpServer, a_new_client_takes_the_place_of_the_one_that_waits_longest) {
  ServerLimits limits;
  limits.connections = 3;
  TestServer server(limits);
  server.start();
  auto slow = server.connect();
  slow.send("GET /hello HTTP/1.1\r\nHost: loc");
  ASSERT_TRUE(eventually([&] { return server.stats().buffered_bytes > 0; }));
  const auto idle = server.connect();
  const auto another = server.connect();
  ASSERT_TRUE(eventually([&] { return server.stats().connections_open == 3; }));

  EXPECT_THAT(server.ask(kHelloAndClose), EndsWith("hello\n"));
  EXPECT_THAT(slow.read_to_end(), AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("too many connections")));
  EXPECT_EQ(server.stats().connections_displaced, 1U);
  EXPECT_EQ(server.stats().connections_refused, 0U);
}

TEST(HttpServer, refuses_connections_while_all_others_are_being_answered_and_recovers) {
  ServerLimits limits;
  limits.connections = 2;
  TestServer server(limits);
  std::vector<std::shared_ptr<Responder>> kept;
  std::atomic<int> asked{0};
  server.server().route("GET", "/later", [&](const HttpRequest&, Responder responder) {
    kept.push_back(std::make_shared<Responder>(std::move(responder)));
    ++asked;
  });
  server.start();
  auto one = server.connect();
  auto two = server.connect();
  one.send("GET /later HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  two.send("GET /later HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return asked == 2; }));
  EXPECT_THAT(server.connect().read_to_end(), StartsWith("HTTP/1.1 503 Service Unavailable\r\n"));
  EXPECT_EQ(server.stats().connections_refused, 1U);
  server.loop().post([&] { kept.clear(); });
  EXPECT_THAT(one.read_to_end(), StartsWith("HTTP/1.1 500 "));
  EXPECT_THAT(server.ask(kHelloAndClose), EndsWith("hello\n"));
}

TEST(HttpServer, one_listener_cannot_take_the_connections_of_the_other) {
  const host::TestFolder folder;
  ServerLimits limits;
  limits.connections = 2;
  TestServer server(limits);
  ASSERT_TRUE(server.server().listen_unix(folder.path() + "/socket", 0600));
  std::shared_ptr<Responder> kept;
  std::atomic<bool> is_asked{false};
  server.server().route("GET", "/later", [&](const HttpRequest&, Responder responder) {
    kept = std::make_shared<Responder>(std::move(responder));
    is_asked = true;
  });
  server.start();
  auto client = server.connect();
  client.send("GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return is_asked.load(); }));
  EXPECT_THAT(server.connect().read_to_end(), StartsWith("HTTP/1.1 503 "));
  if (!testing::has_program("curl")) GTEST_SKIP() << "curl is not installed";
  EXPECT_EQ(testing::run_program(
                {"curl", "-s", "--unix-socket", folder.path() + "/socket", "http://localhost/hello"}),
            "hello\n");
}

TEST(HttpServer, unfinished_requests_hold_no_more_than_there_is) {
  ServerLimits limits;
  limits.buffered_bytes = std::size_t{1} << 20;
  TestServer server(limits);
  server.start();
  const std::string head = "POST /echo-large HTTP/1.1\r\nHost: localhost\r\nContent-Length: ";
  std::vector<RawClient> clients;
  for (int i = 0; i < 12; ++i) {
    clients.push_back(server.connect());
    clients.back().send(head + "1000000\r\n\r\n" + std::string(300'000, 'x'));
  }
  ASSERT_TRUE(eventually([&] {
    return server.stats().buffers_refused + server.stats().buffers_displaced >= clients.size() - 3;
  }));
  EXPECT_LE(server.stats().buffered_bytes_most, limits.buffered_bytes);
  EXPECT_GT(server.stats().buffered_bytes, 0U);
  // Who needs less than they hold gets it.
  EXPECT_THAT(server.ask(head + "5\r\nConnection: close\r\n\r\nhello"), EndsWith("hello"));
  clients.clear();
  EXPECT_TRUE(eventually([&] { return server.stats().buffered_bytes == 0; }));
}

TEST(HttpServer, says_that_no_bytes_are_left) {
  ServerLimits limits;
  limits.buffered_bytes = std::size_t{64} << 10;
  TestServer server(limits);
  server.start();
  const auto text =
      server.ask("POST /echo-large HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n" +
                 std::string(100'000, 'x'));
  EXPECT_THAT(text, AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("buffers are full")));
  EXPECT_EQ(server.stats().buffers_refused, 1U);
  EXPECT_EQ(server.stats().buffered_bytes, 0U);
}

TEST(HttpServer, answers_that_are_not_taken_count_as_well) {
  ServerLimits limits;
  limits.buffered_bytes = std::size_t{20} << 20;
  TestServer server(limits);
  server.server().route("GET", "/big", [](const HttpRequest&, Responder responder) {
    HttpResponse response;
    response.body.assign(std::size_t{16} << 20, 'x');
    responder.respond(std::move(response));
  });
  server.start();
  auto sleeper = server.connect();
  sleeper.shrink_receive_buffer();
  sleeper.send("GET /big HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return server.stats().buffered_bytes > 0; }));
  EXPECT_THAT(server.ask("GET /big HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
              StartsWith("HTTP/1.1 503 "));
  EXPECT_LE(server.stats().buffered_bytes_most, limits.buffered_bytes);
  EXPECT_THAT(server.ask(kHelloAndClose), EndsWith("hello\n"));
}

TEST(HttpServer, reads_no_body_for_a_route_that_is_not_there) {
  TestServer server;
  server.start();
  const std::string body = "HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n";
  EXPECT_THAT(server.ask("POST /nowhere " + body), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(server.ask("POST /hello " + body), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(server.ask("POST /echo HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 5\r\n\r\n"),
              StartsWith("HTTP/1.1 403 "));
  const auto large = server.ask("POST /echo " + body);
  EXPECT_THAT(large, AllOf(StartsWith("HTTP/1.1 413 "), HasSubstr("/echo accepts at most 65536 bytes")));
  EXPECT_EQ(server.stats().buffered_bytes_most, 0U);
}

TEST(HttpServer, a_client_that_waits_for_leave_learns_before_its_body_that_there_is_no_route) {
  TestServer server;
  server.start();
  EXPECT_THAT(server.ask("POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nExpect: "
                         "100-continue\r\n\r\n"),
              StartsWith("HTTP/1.1 404 "));
}

TEST(HttpServer, serves_two_hundred_clients_at_once) {
  TestServer server;
  server.start();
  std::vector<RawClient> clients;
  for (int i = 0; i < 200; ++i)
    clients.push_back(server.connect());
  for (RawClient& client : clients)
    client.send(kHello);
  for (const auto& client : clients)
    EXPECT_THAT(client.read_until("hello\n"), EndsWith("hello\n"));
  EXPECT_EQ(server.stats().connections_open, 200U);
  EXPECT_EQ(server.stats().responses_2xx, 200U);
}

TEST(HttpServer, goes_on_after_the_system_ran_out_of_descriptors) {
  TestServer server;
  server.start();
  const RawClient client = server.connect();
  ASSERT_TRUE(eventually([&] { return server.stats().connections_open == 1; }));
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit lowered = before;
  lowered.rlim_cur = static_cast<rlim_t>(fd) + 1;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &lowered), 0);
  RawClient waiting(fd, server.port());
  const bool was_counted = eventually([&] { return server.stats().accept_errors > 0; });
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(was_counted);
  waiting.send(kHelloAndClose);
  EXPECT_THAT(waiting.read_to_end(), EndsWith("hello\n"));
}

TEST(HttpServer, refuses_other_names_and_other_origins_on_tcp) {
  TestServer server;
  server.start(TcpPolicy{{"node-1.example"}});
  const auto ask = [&](const std::string& headers) {
    return server.ask("GET /hello HTTP/1.1\r\nConnection: close\r\n" + headers + "\r\n");
  };
  EXPECT_THAT(ask("Host: evil.example\r\n"), StartsWith("HTTP/1.1 403 Forbidden\r\n"));
  EXPECT_THAT(ask("Host: localhost\r\nOrigin: http://evil.example\r\n"),
              StartsWith("HTTP/1.1 403 Forbidden\r\n"));
  EXPECT_THAT(ask("Host: localhost:99\r\nOrigin: http://localhost:99\r\n"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(ask("Host: node-1.example\r\n"), StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(server.stats().hosts_refused, 2U);
}

TEST(HttpServer, answers_from_another_thread_later) {
  TestServer server;
  std::thread lane;
  server.server().route("GET", "/later", [&](const HttpRequest&, Responder responder) {
    lane = std::thread([shared = std::make_shared<Responder>(std::move(responder))] {
      std::this_thread::sleep_for(10ms);
      shared->respond(Error{Errc::conflict, "somebody else holds it"});
    });
  });
  server.start();
  const auto text = server.ask("GET /later HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  lane.join();
  EXPECT_THAT(text, StartsWith("HTTP/1.1 409 Conflict\r\n"));
  EXPECT_THAT(text, HasSubstr(R"({"error":{"code":"conflict","message":"somebody else holds it"}})"));
}

TEST(HttpServer, a_dropped_request_is_answered_500) {
  TestServer server;
  server.server().route("GET", "/drop", [](const HttpRequest&, Responder) {});
  server.start();
  EXPECT_THAT(server.ask("GET /drop HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
              StartsWith("HTTP/1.1 500 "));
  EXPECT_EQ(server.stats().answers_dropped, 1U);
}

TEST(HttpServer, a_late_answer_is_replaced_by_504_and_harms_nobody) {
  ServerLimits limits;
  limits.answer_deadline = 500ms;
  TestServer server(limits);
  std::shared_ptr<Responder> kept;
  server.server().route("GET", "/late", [&](const HttpRequest&, Responder responder) {
    kept = std::make_shared<Responder>(std::move(responder));
  });
  server.start();
  auto client = server.connect();
  client.send("GET /late HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(client.read_until("}}\n"), StartsWith("HTTP/1.1 504 "));
  EXPECT_EQ(server.stats().answers_late, 1U);
  server.loop().post([&] { kept->respond(HttpResponse{}); });
  client.send(kHelloAndClose);
  EXPECT_THAT(client.read_to_end(), AllOf(StartsWith("HTTP/1.1 200 OK"), EndsWith("hello\n")));
}

TEST(HttpServer, no_header_of_an_answer_can_begin_another) {
  TestServer server;
  server.server().route("GET", "/split", [](const HttpRequest& request, Responder responder) {
    HttpResponse response;
    response.headers.emplace_back("X-Name", request.query.at("name"));
    responder.respond(std::move(response));
  });
  server.start();
  EXPECT_THAT(
      server.ask(
          "GET /split?name=a%0d%0aSet-Cookie:b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
      HasSubstr("X-Name: a  Set-Cookie:b\r\n"));
}

TEST(HttpServer, the_first_of_equal_parameters_counts) {
  TestServer server;
  server.server().route("GET", "/name", [](const HttpRequest& request, Responder responder) {
    responder.respond({200, "text/plain", request.query.at("name") + "\n", {}});
  });
  server.start();
  EXPECT_THAT(server.ask("GET /name?name=a&name=b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
              EndsWith("\r\n\r\na\n"));
}

TEST(HttpServer, actions_are_for_the_unix_socket_with_the_kernels_word_on_the_peer) {
  if (!testing::has_program("curl")) GTEST_SKIP() << "curl is not installed";
  const host::TestFolder folder;
  const std::string path = folder.path() + "/socket";
  TestServer server;
  server.server().route("POST", "/act",
                        [](const HttpRequest& request, Responder responder) {
                          HttpResponse response;
                          response.body = std::to_string(request.peer.uid) + " " +
                                          (request.peer.pid > 0 ? "with pid" : "without pid");
                          responder.respond(std::move(response));
                        },
                        {.access = Access::local_socket});
  ASSERT_TRUE(server.server().listen_unix(path, 0600));
  server.start();
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  EXPECT_EQ(testing::run_program({"curl", "-s", "-X", "POST", "--unix-socket", path, "http://anything/act"}),
            std::to_string(getuid()) + " with pid");
  EXPECT_THAT(
      server.ask("POST /act HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
      StartsWith("HTTP/1.1 403 Forbidden\r\n"));
}

TEST(HttpServer, actions_are_not_for_other_users_at_the_unix_socket) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to connect as somebody else";
  const host::TestFolder folder;
  ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
  const std::string path = folder.path() + "/socket";
  TestServer server;
  server.server().route("POST", "/act",
                        [](const HttpRequest&, Responder responder) {
                          responder.respond({200, "text/plain", "done\n", {}});
                        },
                        {.access = Access::local_socket});
  ASSERT_TRUE(server.server().listen_unix(path, 0666));
  server.start();
  const auto ask = [&path](const std::string& request) {
    auto client = RawClient::at(path);
    client.send(request);
    return client.read_to_end();
  };
  const std::string act = "POST /act HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
  EXPECT_THAT(ask(act), EndsWith("done\n"));
  // The kernel notes who connects. The call below is of this thread alone, the server stays root.
  constexpr long kSame = -1;
  constexpr long kNobody = 65534;
  ASSERT_EQ(syscall(SYS_setresuid, kSame, kNobody, kSame), 0);
  const auto refused = ask(act);
  const auto read = ask(kHelloAndClose);
  ASSERT_EQ(syscall(SYS_setresuid, kSame, 0L, kSame), 0);
  EXPECT_THAT(refused, AllOf(StartsWith("HTTP/1.1 403 "), HasSubstr("as root or as the agent's user")));
  EXPECT_THAT(read, EndsWith("hello\n"));
}

TEST(HttpServer, replaces_a_stale_socket_and_respects_a_living_one) {
  const host::TestFolder folder;
  const std::string path = folder.path() + "/socket";
  EventLoop loop;
  {
    HttpServer first(loop, {});
    ASSERT_TRUE(first.listen_unix(path, 0600));
    HttpServer second(loop, {});
    const auto refused = second.listen_unix(path, 0600);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::conflict);
  }
  EXPECT_FALSE(std::filesystem::exists(path));

  {  // What a killed process leaves behind.
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(&address.sun_path, path.data(), path.size());
    const void* where = &address;
    ASSERT_EQ(bind(fd, static_cast<const sockaddr*>(where), sizeof address), 0);
    close(fd);
  }
  ASSERT_TRUE(std::filesystem::exists(path));
  HttpServer third(loop, {});
  EXPECT_TRUE(third.listen_unix(path, 0600));
}

TEST(HttpServer, does_not_remove_what_is_no_socket) {
  const host::TestFolder folder;
  const std::string path = folder.path() + "/file";
  std::ofstream(path) << "precious";
  EventLoop loop;
  HttpServer server(loop, {});
  const auto refused = server.listen_unix(path, 0600);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::conflict);
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_EQ(server.listen_unix("/" + std::string(200, 'x'), 0600).error().code, Errc::malformed);
}

TEST(HttpServer, says_that_a_port_is_taken) {
  EventLoop loop;
  HttpServer server(loop, {});
  const auto port = server.listen_tcp("127.0.0.1:0");
  ASSERT_TRUE(port);
  const auto again = server.listen_tcp("127.0.0.1:" + std::to_string(*port));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Errc::conflict);
  EXPECT_EQ(server.listen_tcp("nonsense").error().code, Errc::malformed);
}

TEST(HttpServer, stops_gracefully) {
  TestServer server;
  std::shared_ptr<Responder> kept;
  std::atomic<bool> is_asked{false};
  server.server().route("GET", "/slow", [&](const HttpRequest&, Responder responder) {
    kept = std::make_shared<Responder>(std::move(responder));
    is_asked = true;
  });
  server.start();
  auto idle = server.connect();
  idle.send(kHello);
  EXPECT_THAT(idle.read_until("hello\n"), EndsWith("hello\n"));
  auto busy = server.connect();
  busy.send("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return is_asked.load(); }));

  std::atomic<bool> is_done{false};
  server.loop().post([&] { server.server().stop(10s, [&] { is_done = true; }); });
  EXPECT_EQ(idle.read_to_end(), "");
  EXPECT_FALSE(is_done);
  server.loop().post([&] {
    HttpResponse response;
    response.body = "finished";
    kept->respond(std::move(response));
  });
  const auto text = busy.read_to_end();
  EXPECT_THAT(text, AllOf(EndsWith("finished"), HasSubstr("Connection: close\r\n")));
  EXPECT_TRUE(eventually([&] { return is_done.load(); }));
}

TEST(HttpServer, the_grace_of_a_stop_ends) {
  TestServer server;
  std::shared_ptr<Responder> kept;
  std::atomic<bool> is_asked{false};
  server.server().route("GET", "/never", [&](const HttpRequest&, Responder responder) {
    kept = std::make_shared<Responder>(std::move(responder));
    is_asked = true;
  });
  server.start();
  auto client = server.connect();
  client.send("GET /never HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return is_asked.load(); }));
  std::atomic<bool> is_done{false};
  server.loop().post([&] { server.server().stop(50ms, [&] { is_done = true; }); });
  EXPECT_EQ(client.read_to_end(), "");
  EXPECT_TRUE(eventually([&] { return is_done.load(); }));
}

TEST(HttpServer, a_responder_may_outlive_the_server_and_its_loop) {
  std::shared_ptr<Responder> kept;
  {
    TestServer server;
    std::atomic<bool> is_asked{false};
    server.server().route("GET", "/keep", [&](const HttpRequest&, Responder responder) {
      kept = std::make_shared<Responder>(std::move(responder));
      is_asked = true;
    });
    server.start();
    auto client = server.connect();
    client.send("GET /keep HTTP/1.1\r\nHost: localhost\r\n\r\n");
    ASSERT_TRUE(eventually([&] { return is_asked.load(); }));
  }
  kept->respond(HttpResponse{});
}

TEST(HttpServer, curl_reads_writes_and_reuses_the_connection) {
  if (!testing::has_program("curl")) GTEST_SKIP() << "curl is not installed";
  TestServer server;
  server.start();
  const std::string url = "http://localhost:" + std::to_string(server.port());
  EXPECT_EQ(testing::run_program({"curl", "-s", url + "/hello", url + "/hello"}), "hello\nhello\n");
  EXPECT_TRUE(eventually([&] { return server.stats().connections_accepted == 1; }));
  // More than curl sends without asking for 100 Continue, and chunked.
  const std::string large(1'000'000, 'x');
  EXPECT_TRUE(testing::run_program({"curl", "-s", "--data-binary", "@-", url + "/echo-large"}, large) ==
              large);
  EXPECT_EQ(
      testing::run_program(
          {"curl", "-s", "-T", "-", "-X", "POST", "-H", "Expect: 100-continue", url + "/echo"}, "abc\n"),
      "abc\n");
  const auto status_of = [](std::vector<std::string> words, const std::string& input) {
    words.insert(words.begin(), {"curl", "-s", "-o", "/dev/null", "-w", "%{http_code}"});
    return testing::run_program(std::move(words), input);
  };
  EXPECT_EQ(status_of({"--data-binary", "@-", url + "/echo-large"}, large + large), "413");
  EXPECT_THAT(testing::run_program({"curl", "-s", "-I", url + "/hello"}), HasSubstr("Content-Length: 6"));
  EXPECT_EQ(status_of({"-H", "Host: evil.example", url + "/hello"}, ""), "403");
}

TEST(HttpServer, python_reads_and_reuses_the_connection) {
  if (!testing::has_program("python3")) GTEST_SKIP() << "python3 is not installed";
  TestServer server;
  server.start();
  const std::string script =
      "import http.client as h\n"
      "c = h.HTTPConnection('127.0.0.1', " +
      std::to_string(server.port()) +
      ", timeout=20)\n"
      "for body in (b'', b'x' * 60000, b'end'):\n"
      "    c.request('POST', '/echo', body=iter([body]), encode_chunked=True, headers={'Transfer-Encoding': "
      "'chunked'})\n"
      "    r = c.getresponse()\n"
      "    assert r.status == 200 and r.read() == body, r.status\n"
      "c.request('GET', '/nothing')\n"
      "r = c.getresponse()\n"
      "print(r.status, r.read().decode(), end='')\n";
  EXPECT_EQ(testing::run_program({"python3", "-c", script}),
            "404 {\"error\":{\"code\":\"not_found\",\"message\":\"not found: /nothing\"}}\n");
  EXPECT_TRUE(eventually([&] { return server.stats().connections_accepted == 1; }));
}

}  // namespace
}  // namespace autopilot::net
