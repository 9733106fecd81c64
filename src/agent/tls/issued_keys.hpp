// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "agent/tls/node_keys.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "kube/back_off.hpp"
#include "kube/certificate_requests.hpp"
#include "kube/client.hpp"
#include "net/event_loop.hpp"
#include "net/http_session.hpp"

namespace autopilot::agent {

// Whom cert-manager is asked for a certificate of this node.
struct KeysWish {
  std::string node;
  std::string name_space;  // of the agents, where the Issuer is
  std::string issuer;
};

// Keys that nobody else has seen: made here, and signed by cert-manager, again when two thirds of the life of
// a certificate are over. What fails is tried again, at longer and longer intervals; the old keys stay in
// use. On the loop's thread.
class IssuedKeys {
 public:
  static constexpr Duration kLifetime = std::chrono::hours{24};

  struct Pace {
    // How often cert-manager is asked whether it has answered, and for how long.
    Duration look = std::chrono::seconds{2};
    Duration patience = std::chrono::minutes{2};
    kube::BackOffTimes after_failures{.first = std::chrono::seconds{5}, .last = std::chrono::minutes{10}};
    // A clock that was set is noticed within it.
    Duration longest_rest = std::chrono::minutes{10};
  };

  struct Listener {
    std::function<void(const ReadyKeys& keys)> on_keys;
    // Once for each cause in a row.
    std::function<void(const Error& why)> on_refused;
  };

  IssuedKeys(net::EventLoop& loop, kube::Client& client, const Clock& clock, KeysWish wish, Listener listener,
             std::function<double()> dice, Pace pace);
  IssuedKeys(const IssuedKeys&) = delete;
  IssuedKeys& operator=(const IssuedKeys&) = delete;
  ~IssuedKeys() = default;

  void start() { ask(); }
  [[nodiscard]] const Renewals& renewals() const { return renewals_; }

 private:
  void ask();
  void look();
  void take(const Result<kube::IssuedCertificate>& issued);
  void use(const kube::IssuedCertificate& issued);
  void ask_again_at(WallTime until);
  void forget_object();
  void retry(const Error& why, std::optional<Duration> retry_after);

  net::EventLoop& loop_;
  kube::Client& client_;
  const Clock& clock_;
  const KeysWish wish_;
  const Listener listener_;
  const std::function<double()> dice_;
  const Pace pace_;
  std::string key_;     // of the certificate that is asked for
  std::string object_;  // that it is asked by; empty: none
  MonoTime asked_{};
  std::string told_;  // the cause that was told last
  Renewals renewals_;
  kube::BackOff failures_;
  net::Exchange exchange_;
  net::Exchange removal_;
  net::Subscription next_;
};

}  // namespace autopilot::agent
