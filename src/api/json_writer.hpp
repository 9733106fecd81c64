// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/value.hpp"

namespace autopilot::api {

// Writes one JSON document on one line. The caller is responsible for the structure: every member has a name,
// items have none. A member whose number is not finite is omitted. Control characters are escaped.
class JsonWriter {
 public:
  void begin_object();
  void begin_object(std::string_view name);
  void end_object();
  void begin_list(std::string_view name);
  void end_list();

  void word(std::string_view name, std::string_view text);
  // Omitted if empty.
  void word_if_any(std::string_view name, std::string_view text);
  void number(std::string_view name, double number);
  void integer(std::string_view name, std::int64_t number);
  void count(std::string_view name, std::uint64_t number);
  void flag(std::string_view name, bool flag);
  // Omitted if false.
  void flag_if_set(std::string_view name, bool flag);
  void null(std::string_view name);
  void time(std::string_view name, WallTime time);
  // Omitted for the epoch, which means never.
  void time_if_any(std::string_view name, WallTime time);
  void words(std::string_view name, const std::vector<std::string>& words);
  void value(std::string_view name, const Value& value);
  void attributes(std::string_view name, const Attributes& attributes);

  // Returns the document with a line end; the writer is empty afterwards.
  [[nodiscard]] std::string take();

 private:
  void item();
  void name(std::string_view name);
  void text(std::string_view text);

  std::string out_;
  bool needs_comma_ = false;
};

}  // namespace autopilot::api
