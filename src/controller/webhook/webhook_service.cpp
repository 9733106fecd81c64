// SPDX-License-Identifier: Apache-2.0

#include "controller/webhook/webhook_service.hpp"

#include <string_view>
#include <utility>

#include "controller/webhook/admission_review.hpp"
#include "controller/webhook/observation_review.hpp"
#include "controller/webhook/preflight_review.hpp"

namespace autopilot::controller {

namespace {

template <class Settings>
using Review = HandlerAnswer (*)(std::string_view, const Settings&);

template <class Settings>
net::Handler handler_of(Review<Settings> review, std::function<std::shared_ptr<const Settings>()> settings,
                        const Clock& clock, ReviewCounts& counts) {
  return [review, settings = std::move(settings), &clock, &counts](const net::HttpRequest& request,
                                                                   net::Responder responder) {
    const MonoTime begin = clock.now().mono;
    const std::shared_ptr<const Settings> known = settings();
    HandlerAnswer answer = known ? review(request.body, *known)
                                 : allow_unread(request.body, ReviewOutcome::not_ready,
                                                "the controller is still starting; the pod is not changed");
    counts.add(answer.outcome, clock.now().mono - begin);
    responder.respond({200, "application/json", std::move(answer.body), {}});
  };
}

}  // namespace

void add_webhook_routes(net::HttpServer& server, const WebhookContext& context) {
  const net::RouteOptions options{.access = context.access, .body_bytes = kLongestReviewBody};
  server.route(
      "POST", "/mutate-pod",
      handler_of<WebhookSettings>(review, context.preflight, context.clock, context.preflight_counts),
      options);
  server.route("POST", "/mutate-pod-in-namespace",
               handler_of<WebhookSettings>(review_in_namespace, context.preflight, context.clock,
                                           context.preflight_counts),
               options);
  server.route("POST", "/observe-pod",
               handler_of<ObservationSettings>(observe, context.observation, context.clock,
                                               context.observation_counts),
               options);
}

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
