// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/http_session.hpp"
#include "tests/support/net/test_programs.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::net {
namespace {

using namespace std::chrono_literals;
using ::testing::EndsWith;
using testing::eventually;
using testing::has_program;
using ::testing::HasSubstr;
using testing::Program;
using ::testing::StartsWith;
using testing::TestServer;

constexpr const char* kSecureHello = "GET /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
// How a client that speaks TLS 1.2 and newer begins: the head of a record that is 512 bytes long.
const std::string kBeginning("\x16\x03\x01\x02\x00\x01", 6);

class TlsServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_program("openssl")) GTEST_SKIP() << "openssl is not installed";
    certificates_.make_authority("ca");
    certificates_.make_authority("other-ca");
    certificates_.make("server", "ca", {"-addext", "subjectAltName=IP:127.0.0.1,DNS:node-1"});
  }
  void serve(ServerLimits limits = {}) {
    server_.emplace(limits);
    // Who the server takes the client for.
    server_->server().route("GET", "/who", [](const HttpRequest& request, Responder responder) {
      HttpResponse response;
      response.body = request.peer.is_encrypted ? "encrypted" : "in the clear";
      for (const std::string& name : request.peer.names)
        response.body += " " + name;
      responder.respond(std::move(response));
    });
    server_->server().route("GET", "/verified",
                            [](const HttpRequest&, Responder responder) {
                              responder.respond({200, "text/plain", "done", {}});
                            },
                            {.access = Access::verified_client});
    server_->server().route("GET", "/events", [](const HttpRequest&, Responder responder) {
      EventStream stream = responder.stream();
      (void)stream.send({"1", "news", "all is well"});
    });
    server_->start_tls(server_tls("server"));
  }
  [[nodiscard]] std::shared_ptr<const TlsContext> server_tls(const std::string& name) const {
    const auto tls = TlsContext::make(TlsServerIdentity{
        certificates_.text(name + ".crt"), certificates_.text(name + ".key"), certificates_.text("ca.crt")});
    EXPECT_TRUE(tls) << tls.error().what;
    return *tls;
  }
  // client: whose certificate is shown; empty: none.
  [[nodiscard]] std::shared_ptr<const TlsContext> client_tls(const std::string& client = "") const {
    TlsIdentity identity;
    identity.authorities = certificates_.text("ca.crt");
    if (!client.empty()) identity.certificate = certificates_.text(client + ".crt");
    if (!client.empty()) identity.key = certificates_.text(client + ".key");
    const auto tls = TlsContext::make(identity);
    EXPECT_TRUE(tls) << tls.error().what;
    return *tls;
  }
  Result<HttpResponse> ask(HttpSession& session, const std::string& path = "/who") {
    std::optional<Result<HttpResponse>> answer;
    HttpRequest request;
    request.method = "GET";
    request.path = path;
    const Exchange exchange =
        session.send(request, 20s, [&](Result<HttpResponse> one) { answer = std::move(one); });
    if (!testing::run_until(loop_, [&] { return answer.has_value(); }))
      return fail(Errc::internal, "the session never answered");
    return *std::move(answer);
  }
  // The answer to one request on its own connection, or the error.
  std::string ask_as(const std::string& client, const std::string& path = "/who") {
    HttpSession session(loop_, {true, "127.0.0.1", server_->port(), ""}, client_tls(client));
    const auto answer = ask(session, path);
    return answer ? answer->body : "error: " + answer.error().what;
  }

  testing::TestCertificates certificates_;
  EventLoop loop_;
  std::optional<TestServer> server_;
};

TEST_F(TlsServerTest, serves_a_client_without_a_certificate_that_has_no_name) {
  serve();
  EXPECT_EQ(ask_as(""), "encrypted");
  EXPECT_EQ(server_->stats().handshakes_failed, 0U);
}

TEST_F(TlsServerTest, knows_a_client_by_the_names_of_its_certificate) {
  certificates_.make("node-2", "ca", {"-addext", "subjectAltName=DNS:node-2,IP:10.0.0.2,DNS:also.node-2"});
  serve();
  EXPECT_EQ(ask_as("node-2"), "encrypted node-2 also.node-2");
}

TEST_F(TlsServerTest, a_route_may_be_for_clients_with_a_certificate_alone) {
  certificates_.make("api-server", "ca", {});
  serve();
  EXPECT_EQ(ask_as("api-server", "/verified"), "done");
  EXPECT_THAT(ask_as("", "/verified"), HasSubstr("needs a client certificate from a trusted authority"));
}

TEST_F(TlsServerTest, refuses_a_client_whose_certificate_another_has_signed) {
  certificates_.make_node("node-2", "other-ca");
  serve();
  EXPECT_THAT(ask_as("node-2"), StartsWith("error: "));
  EXPECT_TRUE(eventually([&] { return server_->stats().handshakes_failed == 1; }));
  EXPECT_EQ(server_->stats().requests, 0U);
}

TEST_F(TlsServerTest, refuses_a_client_whose_certificate_has_expired) {
  certificates_.make_expired("node-2", "ca");
  ASSERT_THAT(certificates_.text("node-2.crt"), HasSubstr("BEGIN CERTIFICATE"));
  serve();
  EXPECT_THAT(ask_as("node-2"), StartsWith("error: "));
  EXPECT_TRUE(eventually([&] { return server_->stats().handshakes_failed == 1; }));
}

TEST_F(TlsServerTest, refuses_a_client_whose_certificate_is_for_servers_alone) {
  certificates_.make("node-2", "ca",
                     {"-addext", "subjectAltName=DNS:node-2", "-addext", "extendedKeyUsage=serverAuth"});
  serve();
  EXPECT_THAT(ask_as("node-2"), StartsWith("error: "));
  EXPECT_TRUE(eventually([&] { return server_->stats().handshakes_failed == 1; }));
}

TEST_F(TlsServerTest, a_name_with_a_zero_is_not_the_name_before_it) {
  certificates_.make("node-2", "ca", {"-addext", "subjectAltName=DER:300f820d6e6f64652d31002e6578616d70"});
  serve();
  EXPECT_EQ(ask_as("node-2"), std::string("encrypted node-1\0.examp", 23));
}

TEST_F(TlsServerTest, tells_a_client_that_speaks_plain_http_what_to_do) {
  serve();
  const std::string answer = server_->ask(kSecureHello);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(answer, HasSubstr("https://"));
  EXPECT_TRUE(eventually([&] { return server_->stats().handshakes_failed == 1; }));
  EXPECT_EQ(server_->stats().requests, 0U);
}

TEST_F(TlsServerTest, a_handshake_has_a_deadline_and_holds_up_nobody_else) {
  serve({.handshake_deadline = 200ms});
  auto slow = server_->connect();
  slow.send(kBeginning);
  EXPECT_EQ(ask_as(""), "encrypted");
  EXPECT_EQ(slow.read_to_end(), "");
  EXPECT_TRUE(eventually([&] { return server_->stats().handshakes_late == 1; }));
  EXPECT_TRUE(eventually([&] { return server_->stats().connections_open == 0; }));
}

TEST_F(TlsServerTest, a_handshake_that_is_cut_off_is_forgotten) {
  serve();
  {
    auto cut = server_->connect();
    cut.send(kBeginning);
  }
  EXPECT_TRUE(eventually([&] { return server_->stats().handshakes_failed == 1; }));
  EXPECT_TRUE(eventually([&] { return server_->stats().connections_open == 0; }));
}

TEST_F(TlsServerTest, handshakes_count_against_the_limit_of_connections) {
  serve({.connections = 2});
  auto one = server_->connect();
  auto two = server_->connect();
  ASSERT_TRUE(eventually([&] { return server_->stats().connections_open == 2; }));
  EXPECT_EQ(ask_as(""), "encrypted");
  EXPECT_EQ(one.read_to_end(), "");
  EXPECT_EQ(server_->stats().connections_displaced, 1U);
}

TEST_F(TlsServerTest, new_keys_count_for_new_connections_and_cut_no_old_one) {
  serve();
  HttpSession kept(loop_, {true, "127.0.0.1", server_->port(), ""}, client_tls());
  EXPECT_EQ(ask(kept)->body, "encrypted");
  certificates_.make("elsewhere", "ca", {"-addext", "subjectAltName=DNS:elsewhere.example"});
  server_->loop().post([this] { server_->server().use(server_tls("elsewhere")); });
  EXPECT_TRUE(eventually([&] { return ask_as("").starts_with("error: "); }));
  EXPECT_EQ(ask(kept)->body, "encrypted");
  EXPECT_EQ(server_->stats().connections_open, 1U);
}

TEST_F(TlsServerTest, without_keys_nobody_gets_in_until_there_are_some) {
  server_.emplace();
  server_->start_tls(nullptr);
  EXPECT_THAT(ask_as("", "/hello"), EndsWith(": the server closed the connection before the TLS handshake"));
  EXPECT_TRUE(eventually([&] { return server_->stats().handshakes_failed == 1; }));
  server_->loop().post([this] { server_->server().use(server_tls("server")); });
  EXPECT_TRUE(eventually([&] { return ask_as("", "/hello") == "hello\n"; }));
}

TEST_F(TlsServerTest, takes_and_gives_large_bodies) {
  serve();
  const std::string large(std::size_t{900} << 10, 'x');
  HttpSession session(loop_, {true, "127.0.0.1", server_->port(), ""}, client_tls());
  std::optional<Result<HttpResponse>> answer;
  HttpRequest request;
  request.method = "POST";
  request.path = "/echo-large";
  request.body = large;
  const Exchange exchange =
      session.send(request, 20s, [&](Result<HttpResponse> one) { answer = std::move(one); });
  ASSERT_TRUE(testing::run_until(loop_, [&] { return answer.has_value(); }));
  ASSERT_TRUE(*answer) << answer->error().what;
  EXPECT_EQ((*answer)->body, large);
}

TEST_F(TlsServerTest, an_event_stream_goes_on_inside_tls_and_ends_with_the_server) {
  serve();
  EXPECT_EQ(ask_as("", "/events"), "id: 1\nevent: news\ndata: all is well\n\n");
  EXPECT_TRUE(eventually([&] { return server_->stats().streams_open == 0; }));
}

TEST_F(TlsServerTest, a_client_not_written_here_sees_a_whole_answer_and_its_end) {
  if (!has_program("python3")) GTEST_SKIP() << "python3 is not installed";
  serve();
  // Complains about an end that TLS was not told of.
  Program client(
      {"python3", "-c",
       "import socket, ssl, sys\n"
       "context = ssl.create_default_context(cafile=sys.argv[1])\n"
       "with socket.create_connection(('127.0.0.1', int(sys.argv[2]))) as plain:\n"
       "    with context.wrap_socket(plain, server_hostname='node-1',\n"
       "                             suppress_ragged_eofs=False) as tls:\n"
       "        tls.sendall(b'GET /hello HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\nConnection: close\\r\\n\\r\\n')\n"
       "        text = b''\n"
       "        while part := tls.recv(4096): text += part\n"
       "        print(text.decode().splitlines()[-1], tls.version())\n",
       certificates_.path("ca.crt"), std::to_string(server_->port())});
  EXPECT_EQ(client.read_line(), "hello TLSv1.3");
}

TEST_F(TlsServerTest, old_versions_of_tls_are_refused) {
  if (!has_program("python3")) GTEST_SKIP() << "python3 is not installed";
  serve();
  Program client({"python3", "-W", "ignore", "-c",
                  "import socket, ssl, sys\n"
                  "context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)\n"
                  "context.load_verify_locations(sys.argv[1])\n"
                  "context.set_ciphers('DEFAULT@SECLEVEL=0')\n"
                  "context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1\n"
                  "try:\n"
                  "    context.wrap_socket(socket.create_connection(('127.0.0.1', int(sys.argv[2]))),\n"
                  "                        server_hostname='node-1')\n"
                  "except ssl.SSLError:\n"
                  "    print('refused')\n",
                  certificates_.path("ca.crt"), std::to_string(server_->port())});
  EXPECT_EQ(client.read_line(), "refused");
}

TEST_F(TlsServerTest, a_server_that_ends_leaves_handshakes_behind) {
  serve();
  auto slow = server_->connect();
  slow.send(kBeginning);
  ASSERT_TRUE(eventually([&] { return server_->stats().connections_open == 1; }));
  server_.reset();
  EXPECT_EQ(slow.read_to_end(), "");
}

TEST_F(TlsServerTest, says_which_part_of_its_identity_makes_no_sense) {
  const auto error_of = [](const TlsServerIdentity& one) {
    const auto context = TlsContext::make(one);
    EXPECT_FALSE(context);
    return context ? "" : context.error().what;
  };
  const TlsServerIdentity good{certificates_.text("server.crt"), certificates_.text("server.key"),
                               certificates_.text("ca.crt")};
  TlsServerIdentity wrong = good;
  wrong.certificate = "no PEM";
  EXPECT_THAT(error_of(wrong), HasSubstr("certificate of the server"));
  wrong = good;
  wrong.key = certificates_.text("ca.key");
  EXPECT_THAT(error_of(wrong), HasSubstr("key of the server"));
  wrong = good;
  wrong.authorities = "no PEM";
  EXPECT_THAT(error_of(wrong), HasSubstr("authorities"));
}

}  // namespace
}  // namespace autopilot::net
