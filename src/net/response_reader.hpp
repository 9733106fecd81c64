// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/http.hpp"

namespace autopilot::net {

// Turns bytes into one answer, whole or as it comes. Pure: no socket, no clock.
class ResponseReader {
 public:
  // Without body_bytes the body has no end: take_body() must be called as it comes. An answer to HEAD has no
  // body.
  ResponseReader(std::size_t header_bytes, std::optional<std::size_t> body_bytes, bool is_head);
  ~ResponseReader();
  ResponseReader(const ResponseReader&) = delete;
  ResponseReader& operator=(const ResponseReader&) = delete;

  // Gives how many bytes were used; the caller offers the others again, with more behind them. malformed: no
  // HTTP; exhausted: beyond a limit.
  [[nodiscard]] Result<std::size_t> feed(std::string_view bytes);
  // The connection ended: completes a body without a length. unavailable when something is missing.
  [[nodiscard]] Status end();
  [[nodiscard]] bool has_head() const;
  [[nodiscard]] bool is_complete() const;
  // Complete, and the connection may carry another answer.
  [[nodiscard]] bool is_kept_alive() const;
  // Status and headers (names in lower case), after has_head().
  [[nodiscard]] HttpResponse head() const;
  // What came of the body since the last call.
  [[nodiscard]] std::string take_body();

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace autopilot::net
