// SPDX-License-Identifier: Apache-2.0

#include "controller/certificates/authority.hpp"

#include <string_view>
#include <utility>

#include "kube/certificate_objects.hpp"
#include "kube/stored_texts.hpp"
#include "logging/log.hpp"
#include "net/certificates.hpp"

namespace autopilot::controller {

namespace {

constexpr std::string_view kCertificate = "tls.crt";
constexpr std::string_view kKey = "tls.key";
constexpr std::string_view kNextCertificate = "next.crt";
constexpr std::string_view kNextKey = "next.key";
constexpr std::string_view kPrevious = "previous.crt";
constexpr std::string_view kBelieved = "ca.crt";

std::string text_at(const kube::Texts& texts, std::string_view name) {
  const auto found = texts.find(name);
  return found == texts.end() ? std::string() : found->second;
}

// The name distinguishes one authority from another, for people and for programs that compare names.
Result<net::CertifiedKey> make_one(WallTime now, const AuthorityTimes& times) {
  const std::string day = format_time(now).substr(0, std::string_view("2026-11-21").size());
  return net::make_authority("autopilot authority of " + day, {now - times.backdated, now + times.life});
}

Status check(const net::CertifiedKey& one, std::string_view certificate, std::string_view key) {
  const Status status = net::check_authority(one);
  if (status) return {};
  return fail(Errc::malformed,
              std::string(certificate) + " and " + std::string(key) + ": " + status.error().what);
}

bool has_ended(const std::string& certificate, WallTime now) {
  const auto validity = net::validity_of(certificate);
  return !validity || validity->until <= now;
}

std::string with_end(std::string pem) {
  if (!pem.empty() && !pem.ends_with('\n')) pem += '\n';
  return pem;
}

}  // namespace

Result<AuthorityKeys> new_keys(WallTime now, const AuthorityTimes& times) {
  AuthorityKeys keys;
  keys.current = TRY(make_one(now, times));
  return keys;
}

Result<AuthorityKeys> rotated(const AuthorityKeys& keys, WallTime now, const AuthorityTimes& times) {
  AuthorityKeys due = keys;
  if (!due.previous.empty() && has_ended(due.previous, now)) due.previous.clear();
  const WallTime end = TRY(net::validity_of(due.current.certificate)).until;
  if (now < end - times.next_before) return due;
  if (!due.next) due.next = TRY(make_one(now, times));
  if (now < end - times.switch_before) return due;
  due.previous = now < end ? due.current.certificate : "";
  due.current = std::move(*due.next);
  due.next.reset();
  // The next authority can be as old.
  return TRY(net::validity_of(due.current.certificate)).until - times.next_before <= now
             ? rotated(due, now, times)
             : due;
}

std::string believed(const AuthorityKeys& keys) {
  return with_end(keys.current.certificate) + (keys.next ? with_end(keys.next->certificate) : "") +
         with_end(keys.previous);
}

kube::Texts to_texts(const AuthorityKeys& keys) {
  kube::Texts texts{{std::string(kCertificate), keys.current.certificate},
                    {std::string(kKey), keys.current.key},
                    {std::string(kBelieved), believed(keys)}};
  if (keys.next) {
    texts.emplace(kNextCertificate, keys.next->certificate);
    texts.emplace(kNextKey, keys.next->key);
  }
  if (!keys.previous.empty()) texts.emplace(kPrevious, keys.previous);
  return texts;
}

Result<AuthorityKeys> parse_keys(const kube::Texts& texts) {
  AuthorityKeys keys;
  keys.current = {text_at(texts, kCertificate), text_at(texts, kKey)};
  TRY_STATUS(check(keys.current, kCertificate, kKey));
  net::CertifiedKey next{text_at(texts, kNextCertificate), text_at(texts, kNextKey)};
  if (next != net::CertifiedKey{}) {
    TRY_STATUS(check(next, kNextCertificate, kNextKey));
    keys.next = std::move(next);
  }
  keys.previous = text_at(texts, kPrevious);
  if (!keys.previous.empty() && !net::validity_of(keys.previous))
    return fail(Errc::malformed, std::string(kPrevious) + ": no certificate");
  return keys;
}

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
  note({Errc::not_found, "the authority does not exist yet; the leader creates it"});
  next_ = loop_.after(pace_.wait_for_leader, [this] { look(); });
}

void AuthorityStore::take(const kube::StoredTexts& secret) {
  const auto keys = parse_keys(secret.texts);
  if (!keys)
    return retry({keys.error().code, "invalid Secret " + std::string(kAuthorityName) +
                                         "; delete it to get a new authority: " + keys.error().what},
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
                                 logging::log_info("authority created", {{"secret", kAuthorityName}});
                               take_written(answer);
                             });
}

void AuthorityStore::write(const kube::StoredTexts& old, const AuthorityKeys& next) {
  exchange_ = client_.patch({list_ + "/" + kAuthorityName, {}}, kube::Patch::merge,
                            kube::secret_patch_json(old, to_texts(next)),
                            [this](const kube::ApiResult<std::string>& answer) {
                              if (answer) logging::log_info("authorities rotated");
                              take_written(answer);
                            });
}

// A write of another program takes precedence.
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

namespace {

constexpr const char* kBelievedFile = "ca.crt";

}  // namespace

AuthorityPublication::AuthorityPublication(net::EventLoop& loop, kube::Client& client, std::string name_space,
                                           std::string service, std::function<bool()> is_leader,
                                           std::function<void(const Error& why)> on_problem,
                                           Duration after_conflict)
    : loop_(loop),
      client_(client),
      name_space_(std::move(name_space)),
      service_(std::move(service)),
      is_leader_(std::move(is_leader)),
      on_problem_(std::move(on_problem)),
      after_conflict_(after_conflict) {}

void AuthorityPublication::publish(std::string believed) {
  const bool is_known = believed == believed_;
  believed_ = std::move(believed);
  if (!exchange_.is_active() || !is_known) look_at_map();
}

void AuthorityPublication::look_at_map() {
  again_.cancel();
  exchange_ = client_.get({kube::config_maps_path(name_space_) + "/" + kAuthorityName, {}},
                          [this](const kube::ApiResult<std::string>& answer) { take_map(answer); });
}

void AuthorityPublication::take_map(const kube::ApiResult<std::string>& answer) {
  if (!is_leader_()) return;
  const std::string list = kube::config_maps_path(name_space_);
  const kube::Texts wanted{{kBelievedFile, believed_}};
  if (!answer) {
    if (answer.error().verdict.outcome != ApiOutcome::not_found) return give_up(answer.error().error);
    exchange_ = client_.create(
        {list, {}}, kube::config_map_json({.name = kAuthorityName, .labels = object_labels()}, wanted),
        after_write([this] { look_at_webhooks(); }));
    return;
  }
  const auto map = kube::parse_config_map(*answer);
  if (!map) return give_up(map.error());
  if (map->texts == wanted) return look_at_webhooks();
  exchange_ =
      client_.patch({list + "/" + kAuthorityName, {}}, kube::Patch::merge,
                    kube::config_map_patch_json(*map, wanted), after_write([this] { look_at_webhooks(); }));
}

void AuthorityPublication::look_at_webhooks() {
  exchange_ = client_.get({kube::webhook_configuration_path(kWebhookConfiguration), {}},
                          [this](const kube::ApiResult<std::string>& answer) { take_webhooks(answer); });
}

void AuthorityPublication::take_webhooks(const kube::ApiResult<std::string>& answer) {
  if (!is_leader_()) return;
  if (!answer) {
    // The installation has no webhooks.
    if (answer.error().verdict.outcome == ApiOutcome::not_found) return end();
    return give_up(answer.error().error);
  }
  const auto configuration = kube::parse_webhook_configuration(*answer);
  if (!configuration) return give_up(configuration.error());
  const auto patch = kube::authorities_patch(*configuration, name_space_, service_, believed_);
  if (!patch) return end();
  exchange_ = client_.patch({kube::webhook_configuration_path(kWebhookConfiguration), {}}, kube::Patch::json,
                            *patch, after_write([this] { end(); }));
}

kube::OnObject AuthorityPublication::after_write(std::function<void()> then) {
  return [this, then = std::move(then)](const kube::ApiResult<std::string>& answer) {
    if (answer) return then();
    if (answer.error().verdict.outcome != ApiOutcome::conflict) return give_up(answer.error().error);
    again_ = loop_.after(after_conflict_, [this] { look_at_map(); });
  };
}

void AuthorityPublication::give_up(const Error& why) {
  if (std::exchange(problem_, why.what) != why.what) on_problem_(why);
}

void AuthorityPublication::end() {
  problem_.clear();
}

}  // namespace autopilot::controller
