// SPDX-License-Identifier: Apache-2.0

#include "controller/certificates/own_certificates.hpp"

#include <utility>

#include "api/controller.hpp"
#include "logging/log.hpp"
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
  listener_.on_keys(tls, keys);
  return {};
}

namespace {

using logging::log_info;
using logging::log_warning;

std::function<void(const Error& why)> warn(const char* what) {
  return [what](const Error& why) { log_warning(what, {{"cause", why.what}}); };
}

// A missing authority is normal in a new cluster.
void tell_no_authority(const Error& why) {
  if (why.code == Errc::not_found) return log_info(why.what);
  log_warning("cannot read or create the authority", {{"cause", why.what}});
}

}  // namespace

OwnCertificates::OwnCertificates(net::EventLoop& loop, kube::Client& client, const Clock& clock,
                                 const Place& place, std::function<bool()> is_leader,
                                 ServingKeys::OnKeys on_tls,
                                 std::function<void(const std::string& pem)> on_believed,
                                 std::function<double()> dice)
    : is_leader_(std::move(is_leader)),
      on_believed_(std::move(on_believed)),
      serving_(loop, clock, place.dns_names, place.client_authorities,
               {std::move(on_tls), warn("cannot create the controller's own certificate")}),
      publication_(loop, client, place.name_space, place.service, is_leader_,
                   warn("cannot publish the authority in the cluster")),
      store_(loop, client, clock, place.name_space, AuthorityTimes{}, is_leader_,
             {[this](const AuthorityKeys& keys) { take(keys); }, tell_no_authority}, std::move(dice),
             AuthorityStore::Pace{}),
      issuer_(client, clock, place.name_space, [this] { return keys(); }) {}

void OwnCertificates::take(const AuthorityKeys& keys) {
  serving_.use(keys.current);
  std::string now = believed(keys);
  if (now != believed_) on_believed_(now);
  believed_ = std::move(now);
  if (is_leader_()) publication_.publish(believed_);
}

void OwnCertificates::add_routes(net::HttpServer& server) {
  server.route("POST", api::kCertificatesPath,
               [this](const net::HttpRequest& request, net::Responder responder) {
                 issuer_.answer(request, std::move(responder));
               });
}

std::string OwnCertificates::why_not_ready() const {
  if (serving_.until()) return "";
  return store_.problem().empty() ? "the authority has not been read yet" : store_.problem();
}

std::optional<WallTime> OwnCertificates::authority_until() const {
  const AuthorityKeys* known = keys();
  if (known == nullptr) return std::nullopt;
  const auto validity = net::validity_of(known->current.certificate);
  return validity ? std::optional(validity->until) : std::nullopt;
}

const std::string& OwnCertificates::problem() const {
  return store_.problem().empty() ? publication_.problem() : store_.problem();
}

}  // namespace autopilot::controller
