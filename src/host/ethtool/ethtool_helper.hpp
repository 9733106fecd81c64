// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "host/ethtool/ethtool.hpp"
#include "host/helpers/helper_client.hpp"

namespace autopilot::host {

// `autopilot helper ethtool`: asks the drivers of the Ethernet ports of this machine, for the agent. Gives
// the exit code of the process.
[[nodiscard]] int run_ethtool_helper(int fd);

// Asks in a helper process: a driver that reads a module over its slow bus, or waits for its firmware, may
// not return. The helper ends after each round, which comes once a minute.
class HelperEthtool final : public Ethtool {
 public:
  // A port may take `patience`. A port that took longer is not asked again before `ask_again` has passed and
  // the process that asked it has ended; the others are.
  struct Limits {
    Duration patience = std::chrono::seconds{3};
    Duration ask_again = std::chrono::minutes{10};
  };

  // `clock` is that of the machine, in which callers give their deadlines; it outlives the object.
  HelperEthtool(Command helper, const Clock& clock) : HelperEthtool(std::move(helper), clock, Limits{}) {}
  HelperEthtool(Command helper, const Clock& clock, const Limits& limits);

  [[nodiscard]] std::vector<Result<EthtoolPort>> read(const std::vector<std::string>& interfaces,
                                                      MonoTime deadline) const override;
  [[nodiscard]] HelperStats stats() const { return helper_.stats(); }

 private:
  struct Hang {
    pid_t helper = -1;  // that did not end when it was killed
    MonoTime ask_again{};
  };

  [[nodiscard]] Result<EthtoolPort> read_one(const std::string& interface, MonoTime deadline) const;
  [[nodiscard]] bool still_hangs(const std::string& interface) const;

  const Clock& clock_;
  const Limits limits_;
  mutable HelperClient helper_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, Hang, std::less<>>
      hangs_;  // guarded by mutex_; by port, of which there are few
};

}  // namespace autopilot::host
