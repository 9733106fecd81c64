// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/http.hpp"

namespace autopilot::net {

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
