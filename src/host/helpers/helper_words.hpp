// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/files/fd.hpp"

namespace autopilot::host {

// Splits the standard error of a helper into lines for the agent's log. The driver's library writes there
// too, without a limit.
class HelperWords {
 public:
  static constexpr std::size_t kMaxLine = 1000;  // bytes; the rest of the line is left out
  static constexpr std::size_t kMaxLines = 50;   // in kWindow; then one line reports that more are left out
  static constexpr Duration kWindow = std::chrono::minutes{1};

  // Whole lines of what was written, as many as are allowed at `now`.
  [[nodiscard]] std::vector<std::string> take(std::string_view bytes, MonoTime now);
  // The last line of a process that has ended without a line's end.
  [[nodiscard]] std::vector<std::string> finish(MonoTime now);

 private:
  void end_line(MonoTime now, std::vector<std::string>& lines);

  std::string line_;
  std::size_t lines_ = 0;
  MonoTime window_begin_{};
};

// Neither end blocks: what is written beyond the kernel's room for a pipe (64 KiB) is lost.
struct WordPipe {
  Fd read;
  Fd write;
};
[[nodiscard]] Result<WordPipe> make_word_pipe();
// What has arrived, at most that room.
[[nodiscard]] std::string read_words(int fd);

}  // namespace autopilot::host
