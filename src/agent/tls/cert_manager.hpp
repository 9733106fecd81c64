// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "agent/tls/signer.hpp"
#include "kube/certificate_objects.hpp"
#include "kube/client.hpp"
#include "net/event_loop.hpp"
#include "net/http_session.hpp"

namespace autopilot::agent {

// Whom cert-manager is asked for a certificate of this node.
struct CertManagerWish {
  std::string node;
  std::string name_space;  // of the agents, where the Issuer is
  std::string issuer;
};

// cert-manager, asked by an object of which nothing is left behind.
class CertManager : public Signer {
 public:
  static constexpr Duration kLifetime = std::chrono::hours{24};

  // How often it is asked whether it has answered, and for how long.
  struct Pace {
    Duration look = std::chrono::seconds{2};
    Duration patience = std::chrono::minutes{2};
  };

  CertManager(net::EventLoop& loop, kube::Client& client, const Clock& clock, CertManagerWish wish,
              Pace pace);
  CertManager(const CertManager&) = delete;
  CertManager& operator=(const CertManager&) = delete;
  ~CertManager() override = default;

  void sign(const std::string& request, OnAnswer on_answer) override;

 private:
  void look();
  void take(const Result<kube::IssuedCertificate>& issued);
  void end(const Result<SignedKey>& key, std::optional<Duration> retry_after = {});

  net::EventLoop& loop_;
  kube::Client& client_;
  const Clock& clock_;
  const CertManagerWish wish_;
  const Pace pace_;
  std::string object_;  // that it is asked by; empty: none
  MonoTime asked_{};
  OnAnswer on_answer_;
  net::Exchange exchange_;
  net::Exchange removal_;
  net::Subscription next_;
};

}  // namespace autopilot::agent
