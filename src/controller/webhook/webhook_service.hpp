// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "config/controller_config.hpp"
#include "controller/webhook/review_outcome.hpp"
#include "controller/webhook/settings.hpp"
#include "core/clock.hpp"
#include "net/http_server.hpp"

namespace autopilot::controller {

// Limit of request bodies: longer than any API server sends, so that a review that is too long is allowed
// with a warning instead of refused by the server.
inline constexpr std::size_t kLongestReviewBody = std::size_t{8} << 20;

// The clock and the counts must outlive the server; the functions are called on its thread for each review.
struct WebhookContext {
  // The current settings; null: not known yet, and pods are not changed.
  std::function<std::shared_ptr<const WebhookSettings>()> preflight;
  std::function<std::shared_ptr<const ObservationSettings>()> observation;
  const Clock& clock;
  ReviewCounts& preflight_counts;
  ReviewCounts& observation_counts;
  net::Access access = net::Access::everyone;
};

// POST /mutate-pod, POST /mutate-pod-in-namespace and POST /observe-pod. A response contains only data of the
// request and settings that every pod shows. The status is always 200.
void add_webhook_routes(net::HttpServer& server, const WebhookContext& context);

// The webhooks with the settings of the configuration. Must outlive the server. On the loop's thread.
class WebhookService {
 public:
  explicit WebhookService(const Clock& clock) : clock_(clock) {}
  WebhookService(const WebhookService&) = delete;
  WebhookService& operator=(const WebhookService&) = delete;
  ~WebhookService() = default;

  // access: the accepted clients.
  void add_routes(net::HttpServer& server, net::Access access = net::Access::everyone);
  // Sets the settings of later reviews. believed: PEM of the authorities of agents; empty: not known yet, and
  // pods are not changed. image: the image of the pre-flight container.
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
