// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/child/child_teller.hpp"

#include <condition_variable>
#include <csignal>
#include <iostream>
#include <mutex>
#include <unistd.h>

namespace autopilot::diagnostics {
namespace {

constexpr Duration kTellerPeriod = std::chrono::seconds{1};

void tell_line(const std::string& line) {
  std::cout << line << std::flush;
  if (!std::cout.good()) ::kill(0, SIGKILL);
}

}  // namespace

void lead_group_of_test() {
  std::signal(SIGTERM, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  static_cast<void>(::setpgid(0, 0));
}

void tell(const ChildProgress& progress) {
  tell_line(to_line(progress));
}

void tell(const Observations& observations) {
  tell_line(to_line(observations));
}

std::jthread begin_telling(const std::string& what) {
  return std::jthread([what](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any woken;
    std::unique_lock lock(mutex);
    do
      tell(ChildProgress{0, what});
    while (!woken.wait_for(lock, stop, kTellerPeriod, [&stop] { return stop.stop_requested(); }));
  });
}

}  // namespace autopilot::diagnostics
