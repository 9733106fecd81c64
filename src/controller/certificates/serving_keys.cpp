// SPDX-License-Identifier: Apache-2.0
#include "controller/certificates/serving_keys.hpp"

#include <utility>

#include "net/certificates.hpp"

namespace autopilot::controller {

ServingKeys::ServingKeys(net::EventLoop& loop, const Clock& clock, std::vector<std::string> dns_names,
                         std::string client_authorities, Listener listener, Duration look)
    : clock_(clock),
      dns_names_(std::move(dns_names)),
      client_authorities_(std::move(client_authorities)),
      listener_(std::move(listener)),
      watch_(loop.every(look, [this] { this->look(); })) {}

void ServingKeys::use(const net::CertifiedKey& authority) {
  authority_ = authority;
  look();
}

void ServingKeys::look() {
  if (!authority_) return;
  const net::CertifiedKey& authority = *authority_;
  const WallTime now = clock_.now().wall;
  const bool counts = now >= good_from_ && now < renew_at_;
  if (counts && signed_by_ == authority.certificate) return;
  if (const auto renewed = renew(authority); !renewed) listener_.on_problem(renewed.error());
}

Status ServingKeys::renew(const net::CertifiedKey& authority) {
  const WallTime now = clock_.now().wall;
  const auto keys =
      TRY(net::make_server_certificate(authority, {dns_names_, {now - kBackdated, now + kLife}}));
  const auto tls =
      TRY(net::TlsContext::make(net::TlsServerIdentity{keys.certificate, keys.key, client_authorities_}));
  const net::Validity validity = TRY(net::validity_of(keys.certificate));
  signed_by_ = authority.certificate;
  good_from_ = validity.from;
  renew_at_ = now + (validity.until - now) * 2 / 3;
  until_ = validity.until;
  listener_.on_keys(tls);
  return {};
}

}  // namespace autopilot::controller
