// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "controller/planner/policy.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "net/event_loop.hpp"

namespace autopilot::controller {

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
