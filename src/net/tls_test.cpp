// SPDX-License-Identifier: Apache-2.0
#include "net/tls.hpp"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>
#include <string>

#include "core/parse.hpp"
#include "net/http_session.hpp"
#include "tests/support/net/test_programs.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::net {
namespace {

using namespace std::chrono_literals;
using testing::has_program;
using ::testing::HasSubstr;
using testing::Program;

// A server not written here: answers every request with the subject of the client's certificate.
const char* const kServer =
    "import http.server, ssl, sys\n"
    "class Answer(http.server.BaseHTTPRequestHandler):\n"
    "    protocol_version = 'HTTP/1.1'\n"
    "    def do_GET(self):\n"
    "        shown = self.connection.getpeercert() or {}\n"
    "        text = repr(shown.get('subject', ())).encode()\n"
    "        self.send_response(200)\n"
    "        self.send_header('Content-Length', str(len(text)))\n"
    "        self.end_headers()\n"
    "        self.wfile.write(text)\n"
    "folder, name, wants_client = sys.argv[1:]\n"
    "context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)\n"
    "context.load_cert_chain(f'{folder}/{name}.crt', f'{folder}/{name}.key')\n"
    "if wants_client == 'yes':\n"
    "    context.verify_mode = ssl.CERT_REQUIRED\n"
    "    context.load_verify_locations(f'{folder}/ca.crt')\n"
    "server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Answer)\n"
    "server.socket = context.wrap_socket(server.socket, server_side=True)\n"
    "print(server.server_port, flush=True)\n"
    "server.serve_forever()\n";

class TlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* program : {"openssl", "python3"})
      if (!has_program(program)) GTEST_SKIP() << program << " is not installed";
    certificates_.make_authority("ca");
    certificates_.make_authority("other-ca");
    certificates_.make("server", "ca", {"-addext", "subjectAltName=IP:127.0.0.1,DNS:api.example"});
    certificates_.make("elsewhere", "ca", {"-addext", "subjectAltName=DNS:elsewhere.example"});
    certificates_.make("agent-one", "ca");
    certificates_.make("agent-two", "ca");
  }
  [[nodiscard]] TlsIdentity identity(const std::string& authority, const std::string& client = "") const {
    TlsIdentity made;
    made.authorities = certificates_.text(authority + ".crt");
    if (client.empty()) return made;
    made.certificate = certificates_.text(client + ".crt");
    made.key = certificates_.text(client + ".key");
    return made;
  }
  void serve(const std::string& name, bool wants_client) {
    server_.emplace(std::vector<std::string>{"python3", "-c", kServer, certificates_.folder(), name,
                                             wants_client ? "yes" : "no"});
    const auto port = parse_number<std::uint16_t>(server_->read_line());
    ASSERT_TRUE(port);
    url_ = {true, "127.0.0.1", *port, ""};
  }
  Result<HttpResponse> ask(HttpSession& session) {
    std::optional<Result<HttpResponse>> answer;
    HttpRequest request;
    request.method = "GET";
    request.path = "/";
    const auto patience = loop_.after(testing::kPatience, [this] { loop_.stop(); });
    const Exchange exchange = session.send(request, 20s, [&](Result<HttpResponse> one) {
      answer = std::move(one);
      loop_.stop();
    });
    loop_.run();
    if (!answer) return fail(Errc::internal, "the session never answered");
    return *std::move(answer);
  }
  Result<HttpResponse> ask_as(const TlsIdentity& identity) {
    const auto context = TlsContext::make(identity);
    if (!context) return fail(context.error());
    HttpSession session(loop_, url_, *context);
    return ask(session);
  }

  testing::TestCertificates certificates_;
  EventLoop loop_;
  std::optional<Program> server_;
  ServerUrl url_;
};

TEST_F(TlsTest, trusts_a_server_by_its_authority) {
  serve("server", false);
  const auto answer = ask_as(identity("ca"));
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_EQ(answer->status, 200);
}

TEST_F(TlsTest, does_not_trust_another_authority) {
  serve("server", false);
  const auto answer = ask_as(identity("other-ca"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::denied);
  EXPECT_THAT(answer.error().what, HasSubstr("the server's certificate is not trusted"));
  const auto system = ask_as({});
  ASSERT_FALSE(system);
  EXPECT_EQ(system.error().code, Errc::denied);
  TlsIdentity careless;
  careless.trusts_any_server = true;
  EXPECT_TRUE(ask_as(careless));
}

TEST_F(TlsTest, does_not_trust_a_server_with_another_name) {
  serve("elsewhere", false);
  const auto answer = ask_as(identity("ca"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::denied);
  EXPECT_THAT(answer.error().what, HasSubstr("certificate is not trusted: it does not name 127.0.0.1"));
  TlsIdentity named = identity("ca");
  named.server_name = "elsewhere.example";
  const auto expected = ask_as(named);
  EXPECT_TRUE(expected) << expected.error().what;
}

TEST_F(TlsTest, shows_who_it_is) {
  serve("server", true);
  const auto answer = ask_as(identity("ca", "agent-one"));
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_THAT(answer->body, HasSubstr("agent-one"));
  const auto nobody = ask_as(identity("ca"));
  ASSERT_FALSE(nobody);
  EXPECT_THAT(nobody.error().what, HasSubstr("https://127.0.0.1"));
}

TEST_F(TlsTest, new_keys_count_from_the_next_request_on) {
  serve("server", true);
  HttpSession session(loop_, url_, TlsContext::make(identity("ca", "agent-one")).value());
  EXPECT_THAT(ask(session)->body, HasSubstr("agent-one"));
  session.use(TlsContext::make(identity("ca", "agent-two")).value());
  EXPECT_THAT(ask(session)->body, HasSubstr("agent-two"));
}

TEST_F(TlsTest, says_which_part_makes_no_sense) {
  const auto error_of = [](const TlsIdentity& one) {
    const auto context = TlsContext::make(one);
    EXPECT_FALSE(context);
    EXPECT_EQ(context.error().code, Errc::malformed);
    return context.error().what;
  };
  TlsIdentity wrong = identity("ca", "agent-one");
  wrong.authorities = "no PEM";
  EXPECT_THAT(error_of(wrong), HasSubstr("authorities"));
  wrong = identity("ca", "agent-one");
  wrong.certificate = "no PEM";
  EXPECT_THAT(error_of(wrong), HasSubstr("certificate of the client"));
  wrong = identity("ca", "agent-one");
  wrong.key.clear();
  EXPECT_THAT(error_of(wrong), HasSubstr("key of the client"));
  wrong.key = certificates_.text("agent-two.key");
  EXPECT_THAT(error_of(wrong), HasSubstr("key of the client"));
  certificates_.lock_key("agent-one");
  wrong.key = certificates_.text("agent-one.key");
  EXPECT_THAT(error_of(wrong), HasSubstr("key of the client"));
}

TEST_F(TlsTest, a_server_in_the_clear_is_no_tls_server) {
  testing::TestServer plain;
  plain.start();
  url_ = {true, "127.0.0.1", plain.port(), ""};
  const auto answer = ask_as(identity("ca"));
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().what, HasSubstr("https://127.0.0.1"));
}

}  // namespace
}  // namespace autopilot::net
