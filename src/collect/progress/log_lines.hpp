// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.hpp"

namespace autopilot::collect {

// How the lines of a log file are wrapped.
enum class LogFormat : std::uint8_t {
  plain,      // the output of the program
  container,  // lines of a container runtime: CRI ("<time> stdout F <text>") or Docker ({"log":...})
};

struct LogLine {
  WallTime time{};        // of the runtime; without one, and if it is later, the time of reading
  std::string_view text;  // valid during the call only; no control characters, no escape sequences
};

// A text of which only the beginning and the end are kept.
class ClippedText {
 public:
  static constexpr std::size_t kHead = 8192;
  static constexpr std::size_t kTail = 8192;

  void append(std::string_view bytes);
  [[nodiscard]] bool is_empty() const { return head_.empty(); }
  // Beginning and end; what is left out between them becomes one blank. Empties the text.
  [[nodiscard]] std::string take();

 private:
  std::string head_, tail_;
};

// Turns the bytes of a log file into lines, from any pieces. A carriage return ends a line as a newline does,
// so that each state of a progress bar is one line. Of a longer line the first and the last 8 KiB count. Any
// bytes are accepted. Not thread-safe.
class LogLines {
 public:
  using Sink = std::function<void(const LogLine&)>;

  explicit LogLines(LogFormat format) : format_(format) {}

  // `now`: time of reading. Calls `sink` for each line that is complete and not empty.
  void feed(std::string_view bytes, WallTime now, const Sink& sink);
  // The next bytes are from another place of the file: what is incomplete is dropped, up to the next end of a
  // line.
  void skip();
  // No more bytes follow: what is incomplete is a line.
  void finish(WallTime now, const Sink& sink);

 private:
  void take_raw(WallTime now, const Sink& sink);
  void add_text(std::string_view text, WallTime time, const Sink& sink);
  void end_line(WallTime time, const Sink& sink);

  LogFormat format_;
  bool skips_ = false;
  ClippedText raw_;   // a line of the file, up to its newline
  ClippedText line_;  // a line of the program: one or several of the file, or a part of one
};

// A line of a container runtime. nullopt: another format.
struct ContainerLine {
  std::optional<WallTime> time;
  std::string text;
  bool is_partial = false;  // the line of the program goes on
};
[[nodiscard]] std::optional<ContainerLine> parse_container_line(std::string_view line);

// Without escape sequences of terminals; other control characters become blanks.
[[nodiscard]] std::string clean_line(std::string_view text);

}  // namespace autopilot::collect
