// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "core/clock.hpp"
#include "core/result.hpp"

namespace autopilot::agent {

// The notification socket of systemd. Does nothing where there is none.
class ServiceManager {
 public:
  // NOTIFY_SOCKET and WATCHDOG_USEC of the environment; empty where unset.
  ServiceManager(std::string notify_socket, const std::string& watchdog_microseconds);

  // "READY=1", "STOPPING=1", "WATCHDOG=1", "STATUS=...", "RELOADING=1\nMONOTONIC_USEC=...".
  [[nodiscard]] Status notify(const std::string& state) const;
  // Half of the time after which the service manager would kill us; nothing without a watchdog.
  [[nodiscard]] std::optional<Duration> watchdog_period() const { return watchdog_period_; }

 private:
  std::string socket_;
  std::optional<Duration> watchdog_period_;
};

}  // namespace autopilot::agent
