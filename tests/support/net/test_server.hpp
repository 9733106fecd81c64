// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "net/event_loop.hpp"
#include "net/http_server.hpp"

namespace autopilot::net::testing {

// Shared by the tests of this folder: a server on its own thread, and a client that can misbehave.

inline constexpr std::chrono::seconds kPatience{20};
// Largest body that POST /echo-large of a TestServer accepts.
inline constexpr std::size_t kLargeBody = std::size_t{1} << 20;

// Waits for a condition that another thread fulfils.
[[nodiscard]] inline bool eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
  return true;
}

// Runs the loop until the condition holds; false if it never does.
[[nodiscard]] inline bool run_until(EventLoop& loop, const std::function<bool()>& is_so) {
  const auto look = loop.every(std::chrono::milliseconds{1}, [&] {
    if (is_so()) loop.stop();
  });
  const auto patience = loop.after(kPatience, [&loop] { loop.stop(); });
  loop.run();
  return is_so();
}

// Exchanges raw bytes with a server, without HTTP.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port) : RawClient(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), port) {}
  // Takes ownership of a TCP socket that is not connected yet.
  RawClient(int fd, std::uint16_t port) : fd_(fd) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr any{};
    std::memcpy(&any, &address, sizeof address);
    EXPECT_EQ(connect(fd_, &any, sizeof address), 0);
  }
  // Connects to a Unix socket.
  static RawClient at(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(&address.sun_path, path.data(), path.size());
    const void* where = &address;
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(fd, static_cast<const sockaddr*>(where), sizeof address), 0);
    return RawClient(Connected{fd});
  }
  RawClient(RawClient&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  RawClient& operator=(RawClient&&) = delete;
  ~RawClient() {
    if (fd_ >= 0) close(fd_);
  }

  // False if the server has closed the connection.
  bool send(std::string_view text) {
    return ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  void half_close() const { shutdown(fd_, SHUT_WR); }
  // Makes the window small, for a client that does not read.
  void shrink_receive_buffer() const {
    const int bytes = 2048;
    setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  }
  // Received bytes until `enough` holds, the server closes, or the deadline passes.
  [[nodiscard]] std::string read_until(const std::function<bool(const std::string&)>& enough) const {
    std::string text;
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!enough(text) && std::chrono::steady_clock::now() < end) {
      pollfd wanted{fd_, POLLIN, 0};
      if (poll(&wanted, 1, 100) <= 0) continue;
      std::array<char, 4096> chunk{};
      const auto count = recv(fd_, chunk.data(), chunk.size(), 0);
      if (count <= 0) break;
      text.append(chunk.data(), static_cast<std::size_t>(count));
    }
    return text;
  }
  [[nodiscard]] std::string read_until(const std::string& part) const {
    return read_until([&](const std::string& text) { return text.find(part) != std::string::npos; });
  }
  [[nodiscard]] std::string read_to_end() const {
    return read_until([](const std::string&) { return false; });
  }

 private:
  struct Connected {
    int fd;
  };
  explicit RawClient(Connected socket) : fd_(socket.fd) {}

  int fd_;
};

// A server whose loop runs on its own thread; add routes before it starts.
class TestServer {
 public:
  explicit TestServer(ServerLimits limits = {}) : server_(std::make_unique<HttpServer>(loop_, limits)) {
    server_->route("GET", "/hello", [](const HttpRequest&, Responder responder) {
      HttpResponse response;
      response.content_type = "text/plain";
      response.body = "hello\n";
      responder.respond(std::move(response));
    });
    const auto echo = [](const HttpRequest& request, Responder responder) {
      HttpResponse response;
      response.content_type = "application/octet-stream";
      response.body = request.body;
      responder.respond(std::move(response));
    };
    server_->route("POST", "/echo", echo);
    server_->route("POST", "/echo-large", echo, {.body_bytes = kLargeBody});
  }
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;
  ~TestServer() {
    loop_.stop();
    if (thread_.joinable()) thread_.join();
    server_.reset();
  }

  void start(TcpPolicy policy = {}) { run_at(server_->listen_tcp("127.0.0.1:0", std::move(policy))); }
  void start_tls(std::shared_ptr<const TlsContext> tls) {
    run_at(server_->listen_tls("127.0.0.1:0", std::move(tls)));
  }

  [[nodiscard]] EventLoop& loop() { return loop_; }
  [[nodiscard]] HttpServer& server() { return *server_; }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] ServerStats stats() const { return server_->stats(); }
  [[nodiscard]] RawClient connect() const { return RawClient(port_); }
  // The complete response to one request on its own connection.
  [[nodiscard]] std::string ask(const std::string& request) const {
    RawClient client = connect();
    client.send(request);
    return client.read_to_end();
  }

 private:
  void run_at(const Result<std::uint16_t>& port) {
    ASSERT_TRUE(port) << port.error().what;
    port_ = *port;
    thread_ = std::thread([this] { loop_.run(); });
  }

  EventLoop loop_;
  std::unique_ptr<HttpServer> server_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

// The scripted response to one request, on a connection of its own.
struct Scripted {
  std::string answer;
  bool stays_open = false;  // until the client ends the connection
};

// Sends scripted responses, valid or invalid, one for each request; after the end of the script it accepts no
// connection.
class ScriptedServer {
 public:
  explicit ScriptedServer(std::vector<Scripted> script)
      : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    void* where = &address;
    EXPECT_EQ(bind(fd_, static_cast<sockaddr*>(where), size), 0);
    EXPECT_EQ(listen(fd_, 8), 0);
    EXPECT_EQ(getsockname(fd_, static_cast<sockaddr*>(where), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, script = std::move(script)] {
      for (const Scripted& one : script)
        if (!serve(one)) return;
    });
  }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;
  ~ScriptedServer() {
    is_stopping_ = true;
    thread_.join();
    close(fd_);
  }

  [[nodiscard]] std::uint16_t port() const { return port_; }
  // Head and body of each received request.
  [[nodiscard]] std::vector<std::string> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  // False if the server is stopped meanwhile.
  [[nodiscard]] bool wait_for_bytes(int fd) const {
    while (!is_stopping_) {
      pollfd wanted{fd, POLLIN, 0};
      if (poll(&wanted, 1, 20) > 0) return true;
    }
    return false;
  }

  bool serve(const Scripted& one) {
    if (!wait_for_bytes(fd_)) return false;
    const int client = accept(fd_, nullptr, nullptr);
    std::string request;
    std::array<char, 4096> bytes{};
    while (!is_whole(request) && wait_for_bytes(client)) {
      const auto count = recv(client, bytes.data(), bytes.size(), 0);
      if (count <= 0) break;
      request.append(bytes.data(), static_cast<std::size_t>(count));
    }
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    EXPECT_GE(send(client, one.answer.data(), one.answer.size(), MSG_NOSIGNAL), 0);
    while (one.stays_open && wait_for_bytes(client) && recv(client, bytes.data(), bytes.size(), 0) > 0) {
    }
    close(client);
    return !is_stopping_;
  }

  static bool is_whole(const std::string& request) {
    const auto end = request.find("\r\n\r\n");
    if (end == std::string::npos) return false;
    const auto length = request.find("Content-Length: ");
    if (length == std::string::npos || length > end) return true;
    return request.size() >= end + 4 + std::stoul(request.substr(length + 16));
  }

  int fd_;
  std::uint16_t port_ = 0;
  std::atomic<bool> is_stopping_{false};
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

// A complete response with its length, after which the connection closes: otherwise a fast client would send
// its next request on a connection that is about to end.
[[nodiscard]] inline std::string answer(int status, const std::string& body,
                                        const std::string& headers = "") {
  return "HTTP/1.1 " + std::to_string(status) +
         " Said\r\nContent-Type: application/json\r\nConnection: close\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

// The beginning of a chunked response, one piece for each line; without the last piece it is truncated.
[[nodiscard]] inline std::string pieces(const std::vector<std::string>& lines, bool has_end) {
  std::string text =
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
  std::array<char, 20> size{};
  for (const std::string& line : lines) {
    std::snprintf(size.data(), size.size(), "%zx\r\n", line.size() + 1);
    text += size.data() + line + "\n\r\n";
  }
  return has_end ? text + "0\r\n\r\n" : text;
}

}  // namespace autopilot::net::testing
