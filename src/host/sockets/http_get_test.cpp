// SPDX-License-Identifier: Apache-2.0
#include "host/sockets/http_get.hpp"

#include <gtest/gtest.h>
#include <string>
#include <string_view>

#include "host/files/fd.hpp"
#include "tests/support/host/python_server.hpp"

namespace autopilot::host::http_get_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Paths: /ok, /chunked, /large, /redirect, /hang, /silent, /broken.
constexpr std::string_view kServer = R"(
import http.server, socketserver, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def log_message(self, *words): pass
    def do_GET(self):
        if self.path == '/hang':
            time.sleep(30)
        if self.path == '/redirect':
            self.send_response(302); self.send_header('Location', '/ok'); self.send_header('Content-Length', '0'); self.end_headers(); return
        if self.path == '/broken':
            self.wfile.write(b'220 mail server\r\n'); self.close_connection = True; return
        self.send_response(200)
        if self.path == '/chunked':
            self.send_header('Transfer-Encoding', 'chunked'); self.end_headers()
            for part in (b'a 1\n', b'b 2\n'):
                self.wfile.write(b'%x\r\n%s\r\n' % (len(part), part))
            self.wfile.write(b'0\r\n\r\n'); self.close_connection = True; return
        body = b'x' * 100000 if self.path == '/large' else b'metric 1\n'
        self.send_header('Content-Length', str(len(body))); self.end_headers(); self.wfile.write(body); self.close_connection = True
socketserver.ThreadingTCPServer.daemon_threads = True
server = socketserver.ThreadingTCPServer(('127.0.0.1', 0), Handler)
print(server.server_address[1], flush=True)
import threading
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
)";

TEST(HttpGet, answers_of_a_real_server_are_read_within_limits) {
  const PythonServer server(kServer);
  if (server.port() == 0) GTEST_SKIP() << "needs python3";
  const auto get = [&](const std::string& path, Duration patience = seconds{10}) {
    return http_get({"127.0.0.1", server.port(), path}, 50000, mono_now() + patience);
  };
  EXPECT_EQ(get("/ok").value_or(""), "metric 1\n");
  EXPECT_EQ(get("/chunked").value_or(""), "a 1\nb 2\n");
  EXPECT_EQ(get("/large").error().code, Errc::exhausted);
  const auto redirect = get("/redirect");
  EXPECT_EQ(redirect.error().code, Errc::unavailable);
  EXPECT_NE(redirect.error().what.find("redirect"), std::string::npos);
  EXPECT_EQ(get("/hang", milliseconds{50}).error().code, Errc::timed_out);
  EXPECT_EQ(get("/broken").error().code, Errc::malformed);
}

TEST(HttpGet, a_port_without_a_program_and_a_wrong_place_are_errors) {
  const auto get = [](const HttpPlace& place) { return http_get(place, 1000, mono_now() + seconds{10}); };
  EXPECT_FALSE(get({"127.0.0.1", 1, "/"}));
  EXPECT_EQ(get({"localhost", 80, "/"}).error().code, Errc::malformed);
  EXPECT_EQ(get({"127.0.0.1", 0, "/"}).error().code, Errc::malformed);
  EXPECT_EQ(get({"127.0.0.1", 80, "/a b"}).error().code, Errc::malformed);
  EXPECT_EQ(get({"127.0.0.1", 80, "/\r\nX: y"}).error().code, Errc::malformed);
}

TEST(HttpGet, answers_that_are_cut_or_not_http_are_refused) {
  EXPECT_FALSE(parse_http_answer(""));
  EXPECT_FALSE(parse_http_answer("HTTP/1.1 200 OK\r\n"));
  EXPECT_FALSE(parse_http_answer("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"));
  EXPECT_FALSE(parse_http_answer("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nabc"));
  EXPECT_FALSE(parse_http_answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc"));
  EXPECT_FALSE(
      parse_http_answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nabc"));
  EXPECT_FALSE(parse_http_answer("HTTP/1."));
  EXPECT_EQ(parse_http_answer(std::string(20000, 'x')).error().code, Errc::exhausted);
  EXPECT_EQ(parse_http_answer("HTTP/1.0 200 OK\r\n\r\nbody").value_or(""), "body");
}

}  // namespace
}  // namespace autopilot::host::http_get_test
