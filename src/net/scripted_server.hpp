// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <mutex>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace autopilot::net::testing {

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
