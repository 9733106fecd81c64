// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "net/http.hpp"

namespace autopilot::net {

// A request and the facts that the connection needs.
struct ReadRequest {
  HttpRequest request;
  std::vector<std::string> segments;  // of the path, each decoded separately
  unsigned minor_version = 1;         // HTTP/1.x
  bool is_keep_alive = false;
};

// Parses one request from bytes: first its head, then, after accept_body() sets the limit, its body. Pure: no
// socket, no clock.
class RequestReader {
 public:
  enum class Refusal : unsigned char { none, malformed, header_too_large, body_too_large };

  explicit RequestReader(std::size_t header_bytes);
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  // Returns the number of bytes used; the caller passes the rest again with more bytes appended. Uses no byte
  // after the head before accept_body(), and none after the end of the request.
  std::size_t feed(std::string_view bytes);
  [[nodiscard]] Refusal refusal() const;
  [[nodiscard]] const std::string& refusal_text() const;

  // The head is complete, and the end of the body is unambiguous.
  [[nodiscard]] bool has_head() const;
  // After has_head(): the request without its body. Malformed if the target cannot be decoded, or Host is
  // missing or repeated.
  [[nodiscard]] Result<ReadRequest> head() const;
  // After has_head(): a body follows.
  [[nodiscard]] bool has_body() const;
  // After has_head(): sets the largest accepted body.
  void accept_body(std::size_t body_bytes);
  // After accept_body(), true at most once: the client waits for "100 Continue" before it sends the body.
  [[nodiscard]] bool take_expects_continue();
  // Memory held by the body, in bytes.
  [[nodiscard]] std::size_t held_bytes() const;

  // Head and body are complete.
  [[nodiscard]] bool is_complete() const;
  // After is_complete().
  [[nodiscard]] std::string take_body();

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

// Parses one response from bytes, whole or in parts. Pure: no socket, no clock.
class ResponseReader {
 public:
  // Without body_bytes the body has no limit: call take_body() while it arrives. A response to HEAD has no
  // body.
  ResponseReader(std::size_t header_bytes, std::optional<std::size_t> body_bytes, bool is_head);
  ~ResponseReader();
  ResponseReader(const ResponseReader&) = delete;
  ResponseReader& operator=(const ResponseReader&) = delete;

  // Returns the number of bytes used; the caller passes the rest again with more bytes appended. malformed:
  // not HTTP. exhausted: beyond a limit.
  [[nodiscard]] Result<std::size_t> feed(std::string_view bytes);
  // The connection ended: this completes a body without a length. unavailable: the response is incomplete.
  [[nodiscard]] Status end();
  [[nodiscard]] bool has_head() const;
  [[nodiscard]] bool is_complete() const;
  // The response is complete, and the connection can carry another one.
  [[nodiscard]] bool is_kept_alive() const;
  // Status and headers (names in lower case), after has_head().
  [[nodiscard]] HttpResponse head() const;
  // Bytes of the body since the last call.
  [[nodiscard]] std::string take_body();

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace autopilot::net
