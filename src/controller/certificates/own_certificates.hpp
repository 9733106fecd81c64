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

// Certificates without anybody else: the authority in its Secret, told to the cluster by the controller that
// leads, the controller's own keys, and those of agents. On the loop's thread.
class OwnCertificates {
 public:
  struct Place {
    std::string name_space;
    std::string service;                 // that the webhooks call
    std::vector<std::string> dns_names;  // of the service
    std::string client_authorities;  // PEM: who signs the certificates of clients; empty: no client is asked
  };

  // on_tls: what the controller shows from now on. on_believed: whom pods are told to believe.
  OwnCertificates(net::EventLoop& loop, kube::Client& client, const Clock& clock, const Place& place,
                  std::function<bool()> is_leader,
                  std::function<void(const std::shared_ptr<const net::TlsContext>& tls)> on_tls,
                  std::function<void(const std::string& pem)> on_believed, std::function<double()> dice);
  OwnCertificates(const OwnCertificates&) = delete;
  OwnCertificates& operator=(const OwnCertificates&) = delete;
  ~OwnCertificates() = default;

  void start() { store_.look(); }
  // It makes what is missing, now.
  void lead() { store_.look(); }
  // POST /v1/certificates.
  void add_routes(net::HttpServer& server);

  // Empty: there is something to show.
  [[nodiscard]] std::string why_not_ready() const;
  [[nodiscard]] std::optional<WallTime> serving_until() const { return serving_.until(); }
  [[nodiscard]] std::optional<WallTime> authority_until() const;
  [[nodiscard]] const IssuanceCounts& issued() const { return issuer_.counts(); }
  // Something about them could not be read or written; empty: nothing.
  [[nodiscard]] const std::string& problem() const;

 private:
  void take(const AuthorityKeys& keys);
  [[nodiscard]] const AuthorityKeys* keys() const {
    const auto& keys = store_.keys();
    return keys ? &*keys : nullptr;
  }

  const std::function<bool()> is_leader_;
  const std::function<void(const std::string& pem)> on_believed_;
  std::string believed_;  // that was told last
  ServingKeys serving_;
  AuthorityPublication publication_;
  AuthorityStore store_;
  CertificateIssuer issuer_;
};

}  // namespace autopilot::controller
