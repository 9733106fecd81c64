// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "host/files/files.hpp"
#include "host/helpers/helper_client.hpp"

namespace autopilot::host {

// `autopilot helper ib`: reads files below /sys/class/infiniband of this machine, or of the tree at `root`,
// for the agent, and no others. Gives the exit code of the process.
[[nodiscard]] int run_ib_helper(int fd, const std::string& root = "");

// Reads those files in a helper process: nearly every one asks the firmware of its adapter, and a sick one
// does not let the reader return. Thread-safe.
class IbFiles {
 public:
  static constexpr std::string_view kFolder = "/sys/class/infiniband/";
  // What one file may take. An adapter that took longer is not asked again before kAskAgain has passed and
  // the process that asked it has ended; the others are.
  static constexpr Duration kPatience = std::chrono::seconds{1};
  static constexpr Duration kAskAgain = std::chrono::minutes{1};

  explicit IbFiles(Command helper, Duration ask_again = kAskAgain);

  // timed_out: the adapter did not answer. internal: the helper died, lied or could not be started.
  // exhausted: as many helpers as are allowed hang.
  [[nodiscard]] Result<std::string> read(std::string_view path);
  [[nodiscard]] HelperStats stats() { return helper_.stats(); }

 private:
  struct Hang {
    pid_t helper = -1;  // that did not end when it was killed
    MonoTime ask_again{};
  };

  [[nodiscard]] bool still_hangs(const std::string& adapter);

  const Duration ask_again_;
  HelperClient helper_;
  std::mutex mutex_;
  std::map<std::string, Hang, std::less<>> hangs_;  // guarded by mutex_; by adapter, of which there are few
};

}  // namespace autopilot::host
