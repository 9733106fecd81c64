// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <termios.h>

namespace autopilot::cli {

// The whole terminal of standard output, for frames in place. If standard input is a terminal, its keys
// arrive at once and are not shown; Ctrl-C remains a signal, and Ctrl-Z and Ctrl-\ do nothing. A change of
// the size ends a wait of Interrupt. The destructor restores everything. At most one instance.
class LiveScreen {
 public:
  LiveScreen();
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;
  ~LiveScreen();

  // Shows lines; a line that is longer than the terminal is cut at its edge.
  void show(std::string_view frame);
  // The bytes of the keys since the last call, without waiting. Empty if standard input is not a terminal.
  [[nodiscard]] std::string typed();
  // The descriptor of the keys, to wait for; -1 if there is none.
  [[nodiscard]] int keyboard() const;

 private:
  bool is_changed_ = false;  // the terminal of standard input
  bool has_keys_ = false;
  termios before_{};
};

}  // namespace autopilot::cli
