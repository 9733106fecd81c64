// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "config/controller_config.hpp"
#include "controller/webhook/review_counts.hpp"
#include "controller/webhook/settings.hpp"
#include "core/clock.hpp"
#include "net/http_server.hpp"

namespace autopilot::controller {

// The webhooks as the configuration wants them. Outlives the server that it serves by. On the loop's thread.
class WebhookService {
 public:
  explicit WebhookService(const Clock& clock) : clock_(clock) {}
  WebhookService(const WebhookService&) = delete;
  WebhookService& operator=(const WebhookService&) = delete;
  ~WebhookService() = default;

  // access: who may ask.
  void add_routes(net::HttpServer& server, net::Access access = net::Access::everyone);
  // What pods get from now on. believed: PEM, whose certificates agents show; empty: not known yet, and pods
  // stay as they are.
  // image: what they are tested by.
  void use(const config::ControllerConfig& config, const std::string& image, const std::string& believed);

  [[nodiscard]] ReviewFigures preflight() const { return preflight_counts_.figures(); }
  [[nodiscard]] ReviewFigures observation() const { return observation_counts_.figures(); }

 private:
  const Clock& clock_;
  std::shared_ptr<const WebhookSettings> preflight_;
  std::shared_ptr<const ObservationSettings> observation_;
  ReviewCounts preflight_counts_;
  ReviewCounts observation_counts_;
};

}  // namespace autopilot::controller
