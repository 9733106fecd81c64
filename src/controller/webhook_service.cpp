// SPDX-License-Identifier: Apache-2.0
#include "controller/webhook_service.hpp"

#include "controller/webhook/webhook_routes.hpp"

namespace autopilot::controller {

void WebhookService::add_routes(net::HttpServer& server, net::Access access) {
  add_webhook_routes(server, {.preflight = [this] { return preflight_; },
                              .observation = [this] { return observation_; },
                              .clock = clock_,
                              .preflight_counts = preflight_counts_,
                              .observation_counts = observation_counts_,
                              .access = access});
}

void WebhookService::use(const config::ControllerConfig& config, const std::string& image,
                         const std::string& believed) {
  const AcceleratorNames accelerators{config.webhook.resources, config.webhook.resource_claims};
  observation_ = std::make_shared<const ObservationSettings>(
      ObservationSettings{accelerators, config.kubernetes.label_prefix});
  preflight_ = nullptr;
  if (!config.webhook.enabled || believed.empty()) return;
  preflight_ =
      std::make_shared<const WebhookSettings>(WebhookSettings{.image = image,
                                                              .agent_url = config.webhook.agent_url,
                                                              .authority = believed,
                                                              .accelerators = accelerators,
                                                              .default_tests = config.webhook.tests,
                                                              .deadline = config.webhook.deadline,
                                                              .prefix = config.kubernetes.label_prefix});
}

}  // namespace autopilot::controller
