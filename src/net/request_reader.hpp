// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/http.hpp"

namespace autopilot::net {

// A complete request and what the connection must know about it.
struct ReadRequest {
  HttpRequest request;
  std::vector<std::string> segments;  // of the path, decoded one by one
  unsigned minor_version = 1;         // HTTP/1.x
  bool is_keep_alive = false;
};

// Turns bytes into one request. Pure: no socket, no clock.
class RequestReader {
 public:
  enum class Refusal : unsigned char { none, malformed, header_too_large, body_too_large };

  RequestReader(std::size_t header_bytes, std::size_t body_bytes);
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  // Gives how many bytes were used; the caller offers the others again, with more behind them. Uses nothing
  // beyond the end of the request.
  std::size_t feed(std::string_view bytes);
  [[nodiscard]] bool is_complete() const;
  [[nodiscard]] Refusal refusal() const;
  [[nodiscard]] const std::string& refusal_text() const;
  // True once: the client waits for "100 Continue" before it sends the body.
  [[nodiscard]] bool take_expects_continue();
  // After is_complete(). Malformed where the target cannot be decoded or Host is missing or repeated.
  [[nodiscard]] Result<ReadRequest> take();

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace autopilot::net
