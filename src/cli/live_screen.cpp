// SPDX-License-Identifier: Apache-2.0
#include "cli/live_screen.hpp"

#include <array>
#include <iostream>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

namespace autopilot::cli {
namespace {

struct sigaction old_resize {};

// Only interrupts a wait.
void on_resize(int /*signal*/) {}

}  // namespace

LiveScreen::LiveScreen() {
  struct sigaction action {};
  action.sa_handler = on_resize;
  ::sigaction(SIGWINCH, &action, &old_resize);
  if (::tcgetattr(STDIN_FILENO, &before_) == 0) {
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    raw.c_cc[VSUSP] = _POSIX_VDISABLE;
    raw.c_cc[VQUIT] = _POSIX_VDISABLE;
    is_changed_ = has_keys_ = ::tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
  }
  // Another screen, without cursor and without a line break at the edge.
  std::cout << "\033[?1049h\033[?25l\033[?7l" << std::flush;
}

LiveScreen::~LiveScreen() {
  std::cout << "\033[?7h\033[?25h\033[?1049l" << std::flush;
  if (is_changed_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  ::sigaction(SIGWINCH, &old_resize, nullptr);
}

void LiveScreen::show(std::string_view frame) {
  std::string text = "\033[H";
  // Each line is cleared to its end and the rest of the screen below, so that nothing flickers.
  for (const char c : frame)
    text += c == '\n' ? std::string("\033[K\n") : std::string(1, c);
  std::cout << text << "\033[K\033[J" << std::flush;
}

std::string LiveScreen::typed() {
  std::string bytes;
  std::array<char, 256> piece;
  pollfd poll_fd{keyboard(), POLLIN, 0};
  while (has_keys_ && bytes.size() < 4096 && ::poll(&poll_fd, 1, 0) == 1) {
    const auto count = ::read(STDIN_FILENO, piece.data(), piece.size());
    if (count <= 0) {
      has_keys_ = false;  // the terminal is gone
      break;
    }
    bytes.append(piece.data(), static_cast<std::size_t>(count));
  }
  return bytes;
}

int LiveScreen::keyboard() const {
  return has_keys_ ? STDIN_FILENO : -1;
}

}  // namespace autopilot::cli
