// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/http.hpp"

namespace autopilot::net {

// A request and what the connection must know about it.
struct ReadRequest {
  HttpRequest request;
  std::vector<std::string> segments;  // of the path, decoded one by one
  unsigned minor_version = 1;         // HTTP/1.x
  bool is_keep_alive = false;
};

// Turns bytes into one request: first its head, then, once somebody said how long it may be, its body. Pure:
// no socket, no clock.
class RequestReader {
 public:
  enum class Refusal : unsigned char { none, malformed, header_too_large, body_too_large };

  explicit RequestReader(std::size_t header_bytes);
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  // Gives how many bytes were used; the caller offers the others again, with more behind them. Uses nothing
  // beyond the end of the head before accept_body(), and nothing beyond the end of the request.
  std::size_t feed(std::string_view bytes);
  [[nodiscard]] Refusal refusal() const;
  [[nodiscard]] const std::string& refusal_text() const;

  // The head is complete, and it is unambiguous where the body ends.
  [[nodiscard]] bool has_head() const;
  // After has_head(): the request without its body. Malformed where the target cannot be decoded or Host is
  // missing or repeated.
  [[nodiscard]] Result<ReadRequest> head() const;
  // After has_head(): a body follows.
  [[nodiscard]] bool has_body() const;
  // After has_head(): the body may have that many bytes.
  void accept_body(std::size_t body_bytes);
  // Once, after accept_body(): whether the client waits for "100 Continue" before it sends the body.
  [[nodiscard]] bool take_expects_continue();
  // Memory that the body takes, in bytes.
  [[nodiscard]] std::size_t held_bytes() const;

  // Head and body are there.
  [[nodiscard]] bool is_complete() const;
  // After is_complete().
  [[nodiscard]] std::string take_body();

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace autopilot::net
