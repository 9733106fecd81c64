// SPDX-License-Identifier: Apache-2.0
#include "controller/certificates/authority_publication.hpp"

#include <utility>

#include "controller/certificates/authority_store.hpp"
#include "controller/certificates/object_labels.hpp"
#include "kube/certificate_objects.hpp"
#include "kube/stored_texts.hpp"

namespace autopilot::controller {
namespace {

using kube::ApiOutcome;

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
    // An installation without webhooks.
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
