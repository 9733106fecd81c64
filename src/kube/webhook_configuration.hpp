// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "kube/objects.hpp"

// Whom an API server believes that asks webhooks (admissionregistration.k8s.io/v1,
// MutatingWebhookConfiguration). Pure.
namespace autopilot::kube {

struct CalledWebhook {
  std::string service;  // that it calls; empty: an URL
  std::string name_space;
  std::string authorities;  // PEM; empty: those of the server
};
struct WebhookConfiguration {
  Meta meta;
  std::vector<CalledWebhook> webhooks;
};

[[nodiscard]] std::string webhook_configuration_path(const std::string& name);
// malformed: no such object.
[[nodiscard]] Result<WebhookConfiguration> parse_webhook_configuration(std::string_view text);
// A JSON patch after which those webhooks that call that Service are believed by `authorities`; the server
// refuses it where the object is not of that version any more. Nothing: they are already.
[[nodiscard]] std::optional<std::string> authorities_patch(const WebhookConfiguration& configuration,
                                                           const std::string& name_space,
                                                           const std::string& service,
                                                           const std::string& authorities);

}  // namespace autopilot::kube
