// SPDX-License-Identifier: Apache-2.0
#include "host/helpers/helper_words.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace autopilot::host {
namespace {

constexpr std::size_t kPipeRoom = std::size_t{64} << 10;

}  // namespace

std::vector<std::string> HelperWords::take(std::string_view bytes, MonoTime now) {
  std::vector<std::string> lines;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    line_ += bytes.substr(0, end).substr(0, kMaxLine - line_.size());
    if (end == std::string_view::npos) break;
    end_line(now, lines);
    bytes.remove_prefix(end + 1);
  }
  return lines;
}

std::vector<std::string> HelperWords::finish(MonoTime now) {
  std::vector<std::string> lines;
  if (!line_.empty()) end_line(now, lines);
  return lines;
}

void HelperWords::end_line(MonoTime now, std::vector<std::string>& lines) {
  std::string line = std::exchange(line_, {});
  if (now - window_begin_ >= kWindow) {
    window_begin_ = now;
    lines_ = 0;
  }
  if (lines_ > kMaxLines) return;
  if (lines_++ == kMaxLines) line = "more lines follow within a minute and are left out";
  lines.push_back(std::move(line));
}

Result<WordPipe> make_word_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return fail_errno(errno, "pipe");
  return WordPipe{Fd(ends[0]), Fd(ends[1])};
}

std::string read_words(int fd) {
  std::string words;
  std::array<char, 4096> buffer{};
  while (words.size() < kPipeRoom) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    words.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return words;
}

}  // namespace autopilot::host
