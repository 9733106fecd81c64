// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "kube/objects.hpp"

// The authorities that an API server trusts when it calls webhooks (admissionregistration.k8s.io/v1,
// MutatingWebhookConfiguration). Pure.
namespace autopilot::kube {

struct CalledWebhook {
  std::string service;  // the Service that it calls; empty: a URL
  std::string name_space;
  std::string authorities;  // PEM; empty: the server's own
};
struct WebhookConfiguration {
  Meta meta;
  std::vector<CalledWebhook> webhooks;
};

[[nodiscard]] std::string webhook_configuration_path(const std::string& name);
// malformed: not such an object.
[[nodiscard]] Result<WebhookConfiguration> parse_webhook_configuration(std::string_view text);
// A JSON patch that sets `authorities` on all webhooks that call that Service; the server refuses it if the
// object no longer has that version. nullopt: they are set already.
[[nodiscard]] std::optional<std::string> authorities_patch(const WebhookConfiguration& configuration,
                                                           const std::string& name_space,
                                                           const std::string& service,
                                                           const std::string& authorities);

}  // namespace autopilot::kube
