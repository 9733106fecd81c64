// SPDX-License-Identifier: Apache-2.0
#include "agent/tls/issued_keys.hpp"

#include <algorithm>
#include <utility>

#include "net/certificates.hpp"

namespace autopilot::agent {
namespace {

// Two agents of a node, one after the other, ask by different names. An admission policy knows by the
// beginning of the name for which node it is.
std::string name_of(const std::string& node, WallTime now) {
  const auto ticks = std::chrono::floor<std::chrono::milliseconds>(now).time_since_epoch().count();
  return node + ".tls-" + std::to_string(ticks);
}

}  // namespace

IssuedKeys::IssuedKeys(net::EventLoop& loop, kube::Client& client, const Clock& clock, KeysWish wish,
                       Listener listener, std::function<double()> dice, Pace pace)
    : loop_(loop),
      client_(client),
      clock_(clock),
      wish_(std::move(wish)),
      listener_(std::move(listener)),
      dice_(std::move(dice)),
      pace_(pace) {}

void IssuedKeys::ask() {
  auto made = net::make_certificate_wish(wish_.node);
  if (!made) return retry(made.error(), std::nullopt);
  const Instant now = clock_.now();
  key_ = std::move(made->key);
  object_ = name_of(wish_.node, now.wall);
  asked_ = now.mono;
  exchange_ =
      client_.create({kube::certificate_requests_path(wish_.name_space), {}},
                     kube::certificate_request_json({object_, wish_.issuer, made->request, kLifetime}),
                     [this](const kube::ApiResult<std::string>& answer) {
                       if (answer) return take(kube::parse_certificate_request(*answer));
                       object_.clear();
                       retry(answer.error().error, answer.error().verdict.retry_after);
                     });
}

void IssuedKeys::look() {
  exchange_ = client_.get({kube::certificate_requests_path(wish_.name_space) + "/" + object_, {}},
                          [this](const kube::ApiResult<std::string>& answer) {
                            if (answer) return take(kube::parse_certificate_request(*answer));
                            retry(answer.error().error, answer.error().verdict.retry_after);
                          });
}

void IssuedKeys::take(const Result<kube::IssuedCertificate>& issued) {
  if (issued) return use(*issued);
  const bool is_pending = issued.error().code == Errc::unavailable;
  if (!is_pending || clock_.now().mono - asked_ >= pace_.patience) return retry(issued.error(), std::nullopt);
  next_ = loop_.after(pace_.look, [this] { look(); });
}

void IssuedKeys::use(const kube::IssuedCertificate& issued) {
  const auto ready = make_ready({issued.certificate, key_, issued.authority});
  if (!ready) return retry(ready.error(), std::nullopt);
  forget_object();
  failures_.reset();
  told_.clear();
  renewals_.is_failing = false;
  listener_.on_keys(*ready);
  ask_again_at(ready->validity.from + (ready->validity.until - ready->validity.from) * 2 / 3);
}

// By the clock of the wall, which may be set meanwhile; never at once, whatever it says.
void IssuedKeys::ask_again_at(WallTime until) {
  const Duration left =
      std::clamp<Duration>(until - clock_.now().wall, pace_.after_failures.first, pace_.longest_rest);
  next_ = loop_.after(left, [this, until] {
    if (clock_.now().wall < until) return ask_again_at(until);
    ask();
  });
}

// Nobody else would take it away.
void IssuedKeys::forget_object() {
  if (object_.empty()) return;
  removal_ = client_.remove(
      {kube::certificate_requests_path(wish_.name_space) + "/" + std::exchange(object_, ""), {}}, "",
      [](const auto&) {});
}

void IssuedKeys::retry(const Error& why, std::optional<Duration> retry_after) {
  forget_object();
  ++renewals_.failed;
  renewals_.is_failing = true;
  if (std::exchange(told_, why.what) != why.what) listener_.on_refused(why);
  next_ = loop_.after(failures_.fail(pace_.after_failures, dice_(), retry_after), [this] { ask(); });
}

}  // namespace autopilot::agent
