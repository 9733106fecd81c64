// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "config/controller_config.hpp"
#include "controller/planner/policy.hpp"
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

// How the file of the policy is read.
struct PolicyFile {
  std::function<Result<std::string>(const std::string& path)> read;
  // Something that changes whenever the file does.
  std::function<std::string(const std::string& path)> version;
};

// The policy as it counts now: read again when its file changed. One that makes no sense is told and counted
// once, and the one before stays; at the start that is one that only observes. On the loop's thread.
class LivePolicy {
 public:
  static constexpr Duration kLook = std::chrono::seconds{2};

  LivePolicy(net::EventLoop& loop, PolicyFile file, std::function<void(const Policy&)> on_change,
             Duration look = kLook);
  LivePolicy(const LivePolicy&) = delete;
  LivePolicy& operator=(const LivePolicy&) = delete;
  ~LivePolicy() = default;

  // Empty: nothing is done but observing.
  void use(const std::string& path);
  [[nodiscard]] const Policy& now() const { return now_; }
  // Documents that made no sense.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  void look();
  void take(Policy policy);

  net::EventLoop& loop_;
  const PolicyFile file_;
  const std::function<void(const Policy&)> on_change_;
  const Duration pause_;
  std::string path_;
  std::string version_;  // of what was read last
  Policy now_;
  std::uint64_t refused_ = 0;
  net::Subscription watch_;
};

}  // namespace autopilot::controller
