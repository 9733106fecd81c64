// SPDX-License-Identifier: Apache-2.0
#include "controller/certificates/certificate_issuer.hpp"

#include <algorithm>
#include <utility>

#include "api/controller.hpp"
#include "kube/reviews.hpp"
#include "logging/log.hpp"
#include "net/http.hpp"

namespace autopilot::controller {

namespace {

constexpr Duration kBackdated = std::chrono::hours{1};

}  // namespace

CertificateIssuer::CertificateIssuer(kube::Client& client, const Clock& clock, const std::string& name_space,
                                     std::function<const AuthorityKeys*()> keys)
    : client_(client), clock_(clock), account_(agent_account(name_space)), keys_(std::move(keys)) {}

CertificateIssuer::Refusal CertificateIssuer::refusal_of(const NoAgent& why) {
  const Issuance outcome = why.status == 401   ? Issuance::unknown
                           : why.status == 403 ? Issuance::forbidden
                                               : Issuance::unavailable;
  return {outcome, why.status, why.why};
}

std::optional<CertificateIssuer::Refusal> CertificateIssuer::objection(const net::HttpRequest& request,
                                                                       const std::string& token) {
  if (request.body.size() > kLongestBody)
    return Refusal{Issuance::malformed, 413, {Errc::exhausted, "the body is longer than 32 KiB"}};
  if (token.empty()) return refusal_of(no_token());
  if (pending_.size() >= kMostAtOnce || !reviews_.take(clock_.now().mono))
    return Refusal{Issuance::rate_limited,
                   429,
                   {Errc::exhausted, "too many concurrent requests; try again"},
                   std::chrono::seconds{1}};
  return std::nullopt;
}

void CertificateIssuer::answer(const net::HttpRequest& request, net::Responder responder) {
  const std::string token = net::bearer_token(request);
  if (const auto against = objection(request, token)) return refuse(responder, *against);
  const std::uint64_t id = ++last_id_;
  Pending& asked = pending_.emplace(id, Pending{request.body, std::move(responder), {}}).first->second;
  asked.exchange =
      client_.create({kube::kTokenReviews, {}}, kube::token_review_json(token, kube::kTokenAudience),
                     [this, id](const kube::ApiResult<std::string>& answer) { take_review(id, answer); });
}

void CertificateIssuer::take_review(std::uint64_t id, const kube::ApiResult<std::string>& answer) {
  Pending asked = std::move(pending_.extract(id).mapped());
  auto decided = decide(asked.body, answer);
  if (!decided) return refuse(asked.responder, decided.error());
  count(Issuance::issued);
  asked.responder.respond({200, "application/json", std::move(*decided), {}});
}

tl::expected<std::string, CertificateIssuer::Refusal> CertificateIssuer::decide(
    const std::string& body, const kube::ApiResult<std::string>& review) {
  const auto node = node_of_agent(review, account_);
  if (!node) return tl::unexpected(refusal_of(node.error()));
  return sign(*node, body);
}

tl::expected<std::string, CertificateIssuer::Refusal> CertificateIssuer::sign(const std::string& node,
                                                                              const std::string& body) {
  const Instant now = clock_.now();
  kube::TokenBucket& bucket = nodes_.get(node, kube::TokenBucket{kNodeBurst, kNodeSpacing});
  if (!bucket.take(now.mono))
    return tl::unexpected(
        Refusal{Issuance::rate_limited,
                429,
                {Errc::exhausted, node + " requests certificates too often; try again later"},
                bucket.next(now.mono) - now.mono});
  const AuthorityKeys* keys = keys_();
  if (keys == nullptr)
    return tl::unexpected(Refusal{
        Issuance::unavailable, 503, {Errc::unavailable, "the authority does not exist yet; try again"}});
  const auto request = api::parse_signing_request(body);
  if (!request) return tl::unexpected(Refusal{Issuance::malformed, 400, request.error()});
  const net::Validity validity{now.wall - kBackdated, now.wall + kLife};
  const auto made = net::sign_request(keys->current, request->request, {{node}, validity});
  if (!made) {
    const bool is_theirs = made.error().code == Errc::malformed;
    return tl::unexpected(Refusal{is_theirs ? Issuance::malformed : Issuance::unavailable,
                                  is_theirs ? 400 : 503, made.error()});
  }
  logging::log_info("certificate issued", {{"node", node}, {"until", format_time(validity.until)}});
  return api::to_json(api::SignedCertificate{*made, believed(*keys)});
}

void CertificateIssuer::refuse(net::Responder& responder, const Refusal& refusal) {
  count(refusal.outcome);
  auto response = net::error_response(refusal.status, to_string(refusal.why.code), refusal.why.what);
  if (refusal.status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (refusal.retry_after > Duration{0})
    response.headers.emplace_back(
        "Retry-After", std::to_string(std::chrono::ceil<std::chrono::seconds>(refusal.retry_after).count()));
  responder.respond(std::move(response));
}

}  // namespace autopilot::controller
