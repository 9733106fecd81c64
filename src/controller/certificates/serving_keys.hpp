// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "net/certificates.hpp"
#include "net/event_loop.hpp"
#include "net/tls.hpp"

namespace autopilot::controller {

// The controller's own keys of TLS: made here, signed by the authority, seen by nobody else. New ones when
// two thirds of their life are over, and when another authority signs. On the loop's thread.
class ServingKeys {
 public:
  static constexpr Duration kLife = std::chrono::hours{24};
  static constexpr Duration kBackdated = std::chrono::hours{1};
  // A clock that was set is noticed within it.
  static constexpr Duration kLook = std::chrono::minutes{1};

  struct Listener {
    std::function<void(const std::shared_ptr<const net::TlsContext>& tls)> on_keys;
    std::function<void(const Error& why)> on_problem;  // the old ones stay in use
  };

  // client_authorities: PEM, as in TlsServerIdentity.
  ServingKeys(net::EventLoop& loop, const Clock& clock, std::vector<std::string> dns_names,
              std::string client_authorities, Listener listener, Duration look = kLook);
  ServingKeys(const ServingKeys&) = delete;
  ServingKeys& operator=(const ServingKeys&) = delete;
  ~ServingKeys() = default;

  // That signs from now on.
  void use(const net::CertifiedKey& authority);
  // When those in use end; nothing: there are none.
  [[nodiscard]] std::optional<WallTime> until() const { return until_; }

 private:
  void look();
  [[nodiscard]] Status renew(const net::CertifiedKey& authority);

  const Clock& clock_;
  const std::vector<std::string> dns_names_;
  const std::string client_authorities_;
  const Listener listener_;
  std::optional<net::CertifiedKey> authority_;
  std::string signed_by_;  // the certificate of the authority of those in use
  WallTime good_from_{};   // a clock that was ahead may have been set back
  WallTime renew_at_{};
  std::optional<WallTime> until_;
  net::Subscription watch_;
};

}  // namespace autopilot::controller
