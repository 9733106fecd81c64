// SPDX-License-Identifier: Apache-2.0
#include "agent/tls/issued_keys.hpp"

#include <algorithm>
#include <utility>

#include "net/certificates.hpp"

namespace autopilot::agent {

IssuedKeys::IssuedKeys(net::EventLoop& loop, const Clock& clock, std::string node,
                       std::unique_ptr<Signer> signer, Listener listener, std::function<double()> dice,
                       Pace pace)
    : loop_(loop),
      clock_(clock),
      node_(std::move(node)),
      signer_(std::move(signer)),
      listener_(std::move(listener)),
      dice_(std::move(dice)),
      pace_(pace) {}

void IssuedKeys::ask() {
  auto made = net::make_certificate_wish(node_);
  if (!made) return retry(made.error());
  key_ = std::move(made->key);
  signer_->sign(made->request,
                [this](const Result<SignedKey>& signed_key, std::optional<Duration> retry_after) {
                  if (!signed_key) return retry(signed_key.error(), retry_after);
                  use(*signed_key);
                });
}

void IssuedKeys::use(const SignedKey& signed_key) {
  const auto ready = net::make_ready({signed_key.certificate, key_, signed_key.authorities});
  if (!ready) return retry(ready.error());
  failures_.reset();
  told_.clear();
  has_keys_ = true;
  renewals_.is_failing = false;
  listener_.on_keys(*ready);
  ask_again_at(ready->validity.from + (ready->validity.until - ready->validity.from) * 2 / 3);
}

// By the wall clock, which may be set meanwhile; never at once, whatever its value.
void IssuedKeys::ask_again_at(WallTime until) {
  const Duration left =
      std::clamp<Duration>(until - clock_.now().wall, pace_.after_failures.first, pace_.longest_rest);
  next_ = loop_.after(left, [this, until] {
    if (clock_.now().wall < until) return ask_again_at(until);
    ask();
  });
}

void IssuedKeys::retry(const Error& why, std::optional<Duration> retry_after) {
  ++renewals_.failed;
  renewals_.is_failing = true;
  const bool is_awaited = !has_keys_ && why.code == Errc::unavailable;
  if (std::exchange(told_, why.what) != why.what)
    (is_awaited ? listener_.on_awaited : listener_.on_refused)(why);
  next_ = loop_.after(failures_.fail(pace_.after_failures, dice_(), retry_after), [this] { ask(); });
}

}  // namespace autopilot::agent
