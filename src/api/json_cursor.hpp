// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace autopilot::api {

// A number of a JSON text. If `is_exact`, it is mantissa * 10^exponent; `value` is the nearest double.
struct JsonNumber {
  double value = 0;
  std::int64_t mantissa = 0;
  int exponent = 0;
  bool is_exact = false;

  // nullopt for a number with a fraction, or beyond 64 bits.
  [[nodiscard]] std::optional<std::int64_t> integer() const;
  // The number of nanoseconds in this many seconds, rounded. nullopt beyond 64 bits.
  [[nodiscard]] std::optional<std::int64_t> nanoseconds() const;
};

// Reads one JSON text from front to back without building a tree: for millions of short lines. The caller
// drives it along the structure that it expects:
//   enter_object(); while (next_member(name)) read_number(n); if (!has_failed()) expect_end();
// After the first problem every call returns false. The text must outlive it.
class JsonCursor {
 public:
  explicit JsonCursor(std::string_view text);

  bool enter_object();
  bool enter_list();
  // False at the end of the object or list, or after a problem. `name` is valid
  // as long as the cursor and the text.
  bool next_member(std::string_view& name);
  bool next_item();

  bool read_number(JsonNumber& number);
  // Valid UTF-8; escapes are resolved.
  bool read_text(std::string& text);
  bool read_flag(bool& flag);
  // True if the value is null; it is consumed.
  bool take_null();
  // True if the next value is a text.
  bool is_text();
  // Consumes any value, at most 32 levels deep.
  bool skip_value();
  // Refuses what follows the text.
  bool expect_end();

  bool fail(std::string_view what);
  [[nodiscard]] bool has_failed() const { return !problem_.empty(); }
  // Empty without a problem.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  void skip_space();
  bool enter(char bracket, std::string_view expected);
  bool next(char bracket);
  bool refuse_syntax();
  bool scan_text(std::string_view& text, std::string& decoded);
  bool decode_rest(std::string& decoded);
  bool read_escape(std::string& decoded);
  bool read_unit(unsigned& unit);
  bool expect_word(std::string_view word);
  bool skip_nested(int depth);

  const char* begin_;
  const char* at_;
  const char* end_;
  bool is_fresh_ = false;          // a bracket was just opened
  std::deque<std::string> names_;  // that were written with escapes
  std::string skipped_;
  std::string problem_;
};

}  // namespace autopilot::api
