// SPDX-License-Identifier: Apache-2.0
#include "controller/certificates/authority_store.hpp"

#include <utility>

#include "controller/certificates/object_labels.hpp"
#include "telemetry/log.hpp"

namespace autopilot::controller {

using kube::ApiOutcome;

AuthorityStore::AuthorityStore(net::EventLoop& loop, kube::Client& client, const Clock& clock,
                               const std::string& name_space, AuthorityTimes times,
                               std::function<bool()> is_leader, Listener listener,
                               std::function<double()> dice, Pace pace)
    : loop_(loop),
      client_(client),
      clock_(clock),
      list_(kube::secrets_path(name_space)),
      times_(times),
      is_leader_(std::move(is_leader)),
      listener_(std::move(listener)),
      dice_(std::move(dice)),
      pace_(pace) {}

void AuthorityStore::look() {
  next_.cancel();
  exchange_ = client_.get({list_ + "/" + kAuthorityName, {}},
                          [this](const kube::ApiResult<std::string>& answer) { take(answer); });
}

void AuthorityStore::take(const kube::ApiResult<std::string>& answer) {
  if (answer) {
    const auto secret = kube::parse_secret(*answer);
    return secret ? take(*secret) : retry(secret.error(), std::nullopt);
  }
  if (answer.error().verdict.outcome != ApiOutcome::not_found)
    return retry(answer.error().error, answer.error().verdict.retry_after);
  if (is_leader_()) return create();
  note({Errc::not_found, "there is no authority yet; the controller that leads makes it"});
  next_ = loop_.after(pace_.wait_for_leader, [this] { look(); });
}

void AuthorityStore::take(const kube::StoredTexts& secret) {
  const auto keys = parse_keys(secret.texts);
  if (!keys)
    return retry({keys.error().code, "the Secret " + std::string(kAuthorityName) + " makes no sense; " +
                                         "whoever deletes it gets a new authority: " + keys.error().what},
                 std::nullopt);
  keys_ = *keys;
  listener_.on_keys(*keys_);
  const auto due = rotated(*keys, clock_.now().wall, times_);
  if (!due) return retry(due.error(), std::nullopt);
  if (*due != *keys && is_leader_()) return write(secret, *due);
  problem_.clear();
  failures_.reset();
  next_ = loop_.after(pace_.look, [this] { look(); });
}

void AuthorityStore::create() {
  const auto keys = new_keys(clock_.now().wall, times_);
  if (!keys) return retry(keys.error(), std::nullopt);
  exchange_ = client_.create({list_, {}},
                             kube::secret_json({.name = kAuthorityName, .labels = object_labels()},
                                               "kubernetes.io/tls", to_texts(*keys)),
                             [this](const kube::ApiResult<std::string>& answer) {
                               if (answer)
                                 telemetry::log_info("an authority was made", {{"secret", kAuthorityName}});
                               take_written(answer);
                             });
}

void AuthorityStore::write(const kube::StoredTexts& old, const AuthorityKeys& next) {
  exchange_ = client_.patch({list_ + "/" + kAuthorityName, {}}, kube::Patch::merge,
                            kube::secret_patch_json(old, to_texts(next)),
                            [this](const kube::ApiResult<std::string>& answer) {
                              if (answer) telemetry::log_info("the authorities were renewed");
                              take_written(answer);
                            });
}

// What somebody else wrote meanwhile counts.
void AuthorityStore::take_written(const kube::ApiResult<std::string>& answer) {
  if (answer) return look();
  const kube::ApiError& why = answer.error();
  if (why.verdict.outcome != ApiOutcome::conflict) return retry(why.error, why.verdict.retry_after);
  look_again(why.verdict.retry_after);
}

void AuthorityStore::note(const Error& why) {
  if (std::exchange(problem_, why.what) != why.what) listener_.on_problem(why);
}

void AuthorityStore::retry(const Error& why, std::optional<Duration> retry_after) {
  note(why);
  look_again(retry_after);
}

void AuthorityStore::look_again(std::optional<Duration> retry_after) {
  next_ = loop_.after(failures_.fail(pace_.after_failures, dice_(), retry_after), [this] { look(); });
}

}  // namespace autopilot::controller
