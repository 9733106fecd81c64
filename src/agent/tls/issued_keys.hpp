// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/tls/signer.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "kube/pacing.hpp"
#include "net/event_loop.hpp"
#include "net/node_keys.hpp"

namespace autopilot::agent {

// Private keys that never leave this process: made here, and signed by a Signer, again when two thirds of the
// life of a certificate are over. What fails is tried again, at longer and longer intervals; the old keys
// stay in use. On the loop's thread.
class IssuedKeys {
 public:
  struct Pace {
    kube::BackOffTimes after_failures{.first = std::chrono::seconds{5}, .last = std::chrono::minutes{10}};
    // A clock that was set is noticed within it.
    Duration longest_rest = std::chrono::minutes{10};
  };

  struct Listener {
    std::function<void(const net::ReadyKeys& keys)> on_keys;
    // Once for each cause in a row.
    std::function<void(const Error& why)> on_refused;
    // In place of on_refused until there are keys, where the signer is unavailable: it begins at the same
    // time.
    std::function<void(const Error& why)> on_awaited;
  };

  IssuedKeys(net::EventLoop& loop, const Clock& clock, std::string node, std::unique_ptr<Signer> signer,
             Listener listener, std::function<double()> dice, Pace pace);
  IssuedKeys(const IssuedKeys&) = delete;
  IssuedKeys& operator=(const IssuedKeys&) = delete;
  ~IssuedKeys() = default;

  void start() { ask(); }
  [[nodiscard]] const net::Renewals& renewals() const { return renewals_; }

 private:
  void ask();
  void use(const SignedKey& signed_key);
  void ask_again_at(WallTime until);
  void retry(const Error& why, std::optional<Duration> retry_after = {});

  net::EventLoop& loop_;
  const Clock& clock_;
  const std::string node_;
  const std::unique_ptr<Signer> signer_;
  const Listener listener_;
  const std::function<double()> dice_;
  const Pace pace_;
  bool has_keys_ = false;
  std::string key_;   // of the certificate that is asked for
  std::string told_;  // the cause that was reported last
  net::Renewals renewals_;
  kube::BackOff failures_;
  net::Subscription next_;
};

}  // namespace autopilot::agent
