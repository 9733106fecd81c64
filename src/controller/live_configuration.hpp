// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "config/controller_config.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "net/event_loop.hpp"

namespace autopilot::controller {

// The configuration as it counts now: read again when its file changed, or when somebody asks. A new one that
// makes no sense is told and counted once, and the old one stays. On the loop's thread.
class LiveConfiguration {
 public:
  static constexpr Duration kLook = std::chrono::seconds{2};

  using Reload = std::function<Result<config::ControllerConfig>()>;

  // version: something that changes whenever the file does; empty without a file. on_change: it is another
  // one now. look: how often the version is asked for.
  LiveConfiguration(net::EventLoop& loop, config::ControllerConfig first, Reload reload,
                    std::function<std::string()> version, std::function<void()> on_change,
                    Duration look = kLook);
  LiveConfiguration(const LiveConfiguration&) = delete;
  LiveConfiguration& operator=(const LiveConfiguration&) = delete;
  ~LiveConfiguration() = default;

  [[nodiscard]] const config::ControllerConfig& now() const { return now_; }
  void reload();
  // New ones that made no sense.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  void refuse(const Error& why);

  config::ControllerConfig now_;
  const Reload reload_;
  const std::function<std::string()> version_of_file_;
  const std::function<void()> on_change_;
  std::string version_;  // of what was read last
  std::string refused_version_;
  std::uint64_t refused_ = 0;
  net::Subscription watch_;
};

}  // namespace autopilot::controller
