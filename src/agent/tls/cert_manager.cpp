// SPDX-License-Identifier: Apache-2.0
#include "agent/tls/cert_manager.hpp"

#include <utility>

namespace autopilot::agent {
namespace {

// Two agents of a node, one after the other, ask by different names. An admission policy knows by the
// beginning of the name for which node it is.
std::string name_of(const std::string& node, WallTime now) {
  const auto ticks = std::chrono::floor<std::chrono::milliseconds>(now).time_since_epoch().count();
  return node + ".tls-" + std::to_string(ticks);
}

}  // namespace

CertManager::CertManager(net::EventLoop& loop, kube::Client& client, const Clock& clock, CertManagerWish wish,
                         Pace pace)
    : loop_(loop), client_(client), clock_(clock), wish_(std::move(wish)), pace_(pace) {}

void CertManager::sign(const std::string& request, OnAnswer on_answer) {
  const Instant now = clock_.now();
  on_answer_ = std::move(on_answer);
  object_ = name_of(wish_.node, now.wall);
  asked_ = now.mono;
  exchange_ = client_.create({kube::certificate_requests_path(wish_.name_space), {}},
                             kube::certificate_request_json({object_, wish_.issuer, request, kLifetime}),
                             [this](const kube::ApiResult<std::string>& answer) {
                               if (answer) return take(kube::parse_certificate_request(*answer));
                               object_.clear();
                               end(tl::unexpected(answer.error().error), answer.error().verdict.retry_after);
                             });
}

void CertManager::look() {
  exchange_ = client_.get({kube::certificate_requests_path(wish_.name_space) + "/" + object_, {}},
                          [this](const kube::ApiResult<std::string>& answer) {
                            if (answer) return take(kube::parse_certificate_request(*answer));
                            end(tl::unexpected(answer.error().error), answer.error().verdict.retry_after);
                          });
}

void CertManager::take(const Result<kube::IssuedCertificate>& issued) {
  if (issued) return end(SignedKey{issued->certificate, issued->authority});
  const bool is_pending = issued.error().code == Errc::unavailable;
  if (!is_pending) return end(tl::unexpected(issued.error()));
  if (clock_.now().mono - asked_ >= pace_.patience) return end(fail(Errc::timed_out, issued.error().what));
  next_ = loop_.after(pace_.look, [this] { look(); });
}

// Deletes the object: no other component does.
void CertManager::end(const Result<SignedKey>& key, std::optional<Duration> retry_after) {
  if (!object_.empty())
    removal_ = client_.remove(
        {kube::certificate_requests_path(wish_.name_space) + "/" + std::exchange(object_, ""), {}}, "",
        [](const auto&) {});
  const OnAnswer on_answer = std::exchange(on_answer_, nullptr);
  on_answer(key, retry_after);
}

}  // namespace autopilot::agent
