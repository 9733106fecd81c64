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

// The current configuration. It is read again when its file changes and on request. An invalid one is logged
// and counted once, and the previous one stays in use. On the loop's thread.
class LiveConfiguration {
 public:
  static constexpr Duration kLook = std::chrono::seconds{2};

  using Reload = std::function<Result<config::ControllerConfig>()>;

  // version: returns a text that changes whenever the file changes; empty without a file. on_change: called
  // after a change of the configuration. look: interval between calls of version.
  LiveConfiguration(net::EventLoop& loop, config::ControllerConfig first, Reload reload,
                    std::function<std::string()> version, std::function<void()> on_change,
                    Duration look = kLook);
  LiveConfiguration(const LiveConfiguration&) = delete;
  LiveConfiguration& operator=(const LiveConfiguration&) = delete;
  ~LiveConfiguration() = default;

  [[nodiscard]] const config::ControllerConfig& now() const { return now_; }
  void reload();
  // Number of invalid configurations.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  void refuse(const Error& why);

  config::ControllerConfig now_;
  const Reload reload_;
  const std::function<std::string()> version_of_file_;
  const std::function<void()> on_change_;
  std::string version_;  // of the content that was read last
  std::string refused_version_;
  std::uint64_t refused_ = 0;
  net::Subscription watch_;
};

// Access to the policy's file.
struct PolicyFile {
  std::function<Result<std::string>(const std::string& path)> read;
  // A text that changes whenever the file changes.
  std::function<std::string(const std::string& path)> version;
};

// The current policy. It is read again when its file changes. An invalid policy is logged and counted once,
// and the previous one stays in use; at the start that is a policy that only observes. On the loop's thread.
class LivePolicy {
 public:
  static constexpr Duration kLook = std::chrono::seconds{2};

  LivePolicy(net::EventLoop& loop, PolicyFile file, std::function<void(const Policy&)> on_change,
             Duration look = kLook);
  LivePolicy(const LivePolicy&) = delete;
  LivePolicy& operator=(const LivePolicy&) = delete;
  ~LivePolicy() = default;

  // Empty: the default policy, which only observes.
  void use(const std::string& path);
  [[nodiscard]] const Policy& now() const { return now_; }
  // Number of invalid documents.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  void look();
  void take(Policy policy);

  net::EventLoop& loop_;
  const PolicyFile file_;
  const std::function<void(const Policy&)> on_change_;
  const Duration pause_;
  std::string path_;
  std::string version_;  // of the content that was read last
  Policy now_;
  std::uint64_t refused_ = 0;
  net::Subscription watch_;
};

}  // namespace autopilot::controller
