// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/certificates/authority.hpp"
#include "controller/certificates/certificate_issuer.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "kube/client.hpp"
#include "net/certificates.hpp"
#include "net/event_loop.hpp"
#include "net/http_server.hpp"
#include "net/tls.hpp"

namespace autopilot::controller {

// The controller's own TLS keys: created here, signed by the authority, and never stored. They are renewed
// after two thirds of their lifetime and when the authority changes. On the loop's thread.
class ServingKeys {
 public:
  static constexpr Duration kLife = std::chrono::hours{24};
  static constexpr Duration kBackdated = std::chrono::hours{1};
  // A changed clock is noticed within this time.
  static constexpr Duration kLook = std::chrono::minutes{1};

  // keys: what the context was made of.
  using OnKeys =
      std::function<void(const std::shared_ptr<const net::TlsContext>& tls, const net::CertifiedKey& keys)>;

  struct Listener {
    OnKeys on_keys;
    std::function<void(const Error& why)> on_problem;  // the old keys stay in use
  };

  // client_authorities: PEM, see TlsServerIdentity.
  ServingKeys(net::EventLoop& loop, const Clock& clock, std::vector<std::string> dns_names,
              std::string client_authorities, Listener listener, Duration look = kLook);
  ServingKeys(const ServingKeys&) = delete;
  ServingKeys& operator=(const ServingKeys&) = delete;
  ~ServingKeys() = default;

  // Uses this authority from now on.
  void use(const net::CertifiedKey& authority);
  // End of the keys in use; nullopt: none.
  [[nodiscard]] std::optional<WallTime> until() const { return until_; }

 private:
  void look();
  [[nodiscard]] Status renew(const net::CertifiedKey& authority);

  const Clock& clock_;
  const std::vector<std::string> dns_names_;
  const std::string client_authorities_;
  const Listener listener_;
  std::optional<net::CertifiedKey> authority_;
  std::string signed_by_;  // certificate of the authority that signed the keys in use
  WallTime good_from_{};   // checked because the clock can be set back
  WallTime renew_at_{};
  std::optional<WallTime> until_;
  net::Subscription watch_;
};

// Certificates without cert-manager: the authority in its Secret, which the leader publishes in the cluster,
// the controller's own keys, and the certificates of agents. On the loop's thread.
class OwnCertificates {
 public:
  struct Place {
    std::string name_space;
    std::string service;                 // the Service that webhooks call
    std::vector<std::string> dns_names;  // of the service
    std::string client_authorities;      // PEM of the authorities of client certificates; empty: no client
                                         // certificate is requested
  };

  // on_tls: the new serving identity. on_believed: the authorities that pods trust from now on.
  OwnCertificates(net::EventLoop& loop, kube::Client& client, const Clock& clock, const Place& place,
                  std::function<bool()> is_leader, ServingKeys::OnKeys on_tls,
                  std::function<void(const std::string& pem)> on_believed, std::function<double()> dice);
  OwnCertificates(const OwnCertificates&) = delete;
  OwnCertificates& operator=(const OwnCertificates&) = delete;
  ~OwnCertificates() = default;

  void start() { store_.look(); }
  // Call it when this controller becomes the leader, which creates a missing authority.
  void lead() { store_.look(); }
  // POST /v1/certificates.
  void add_routes(net::HttpServer& server);

  // Why there is no serving certificate yet; empty: there is one.
  [[nodiscard]] std::string why_not_ready() const;
  [[nodiscard]] std::optional<WallTime> serving_until() const { return serving_.until(); }
  [[nodiscard]] std::optional<WallTime> authority_until() const;
  [[nodiscard]] const IssuanceCounts& issued() const { return issuer_.counts(); }
  // The last problem with reading or writing; empty: none.
  [[nodiscard]] const std::string& problem() const;

 private:
  void take(const AuthorityKeys& keys);
  [[nodiscard]] const AuthorityKeys* keys() const {
    const auto& keys = store_.keys();
    return keys ? &*keys : nullptr;
  }

  const std::function<bool()> is_leader_;
  const std::function<void(const std::string& pem)> on_believed_;
  std::string believed_;  // last reported by on_believed
  ServingKeys serving_;
  AuthorityPublication publication_;
  AuthorityStore store_;
  CertificateIssuer issuer_;
};

}  // namespace autopilot::controller
