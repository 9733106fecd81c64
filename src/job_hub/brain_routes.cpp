// SPDX-License-Identifier: Apache-2.0
#include "job_hub/brain_routes.hpp"

#include <memory>
#include <string_view>
#include <utility>

#include "core/text.hpp"
#include "net/responses.hpp"

namespace autopilot::job_hub {
namespace {

using net::HttpRequest;
using net::Responder;

constexpr std::size_t kLongestName = 253;

// Runs `task` with the brain; its result answers.
void ask_brain(const BrainRouteContext& context, Responder responder,
               std::function<Result<std::string>(jobs::Brain& brain, WallTime now)> task) {
  const auto shared = std::make_shared<Responder>(std::move(responder));
  const Status asked = context.ask([shared, task = std::move(task)](jobs::Brain& brain, WallTime now) {
    auto body = task(brain, now);
    if (body)
      shared->respond(net::json_response(*std::move(body)));
    else
      shared->respond(body.error());
  });
  if (!asked) shared->respond(asked.error());
}

std::string caller_of(const HttpRequest& request) {
  return std::string(cut_utf8(kube::caller_name(request.peer), kLongestName));
}

void get_jobs(const BrainRouteContext& context, const HttpRequest& request, Responder responder) {
  const auto wanted = request.query.find("job");
  if (wanted == request.query.end())
    return ask_brain(context, std::move(responder),
                     [at = context.brain_at](jobs::Brain& brain, WallTime now) -> Result<std::string> {
                       return api::to_json(api::JobList{.time = now, .brain = at, .jobs = brain.reports()});
                     });
  if (wanted->second.empty() || wanted->second.size() > kLongestName)
    return responder.respond(Error{Errc::malformed, "job: expected 1 to 253 bytes"});
  ask_brain(context, std::move(responder),
            [job = wanted->second, is_simulated = context.is_simulated](jobs::Brain& brain, WallTime)
                -> Result<std::string> { return api::to_json(TRY(brain.report(job)), is_simulated); });
}

void state_feedback(const BrainRouteContext& context, const HttpRequest& request, Responder responder) {
  auto wanted = api::parse_job_feedback(request.body);
  if (!wanted) return responder.respond(wanted.error());
  ask_brain(context, std::move(responder),
            [wanted = *std::move(wanted), by = caller_of(request), is_simulated = context.is_simulated](
                jobs::Brain& brain, WallTime now) -> Result<std::string> {
              TRY_STATUS(brain.state_feedback({.time = now,
                                               .finding = wanted.finding,
                                               .verdict = wanted.verdict,
                                               .by = by,
                                               .note = wanted.note}));
              return api::to_json(TRY(brain.report_with(wanted.finding)), is_simulated);
            });
}

void acknowledge(const BrainRouteContext& context, const HttpRequest& request, Responder responder) {
  const auto wanted = api::parse_job_ack(request.body);
  if (!wanted) return responder.respond(wanted.error());
  ask_brain(context, std::move(responder),
            [finding = wanted->finding, by = caller_of(request), is_simulated = context.is_simulated](
                jobs::Brain& brain, WallTime now) -> Result<std::string> {
              TRY_STATUS(brain.acknowledge({.time = now, .finding = finding, .by = by}));
              return api::to_json(TRY(brain.report_with(finding)), is_simulated);
            });
}

void mute(const BrainRouteContext& context, const HttpRequest& request, Responder responder) {
  const auto wanted = api::parse_job_mute(request.body);
  if (!wanted) return responder.respond(wanted.error());
  ask_brain(context, std::move(responder),
            [wanted = *wanted, is_simulated = context.is_simulated](jobs::Brain& brain,
                                                                    WallTime now) -> Result<std::string> {
              TRY_STATUS(brain.mute(wanted.job, now + wanted.duration));
              return api::to_json(TRY(brain.report(wanted.job)), is_simulated);
            });
}

using Route = void (*)(const BrainRouteContext&, const HttpRequest&, Responder);

void add_action(net::HttpServer& server, const BrainRouteContext& context, const std::string& action,
                Route route) {
  server.route("POST", "/v1/jobs/" + action,
               kube::guarded(
                   context.rights,
                   [action](const HttpRequest&) {
                     return kube::VirtualResource{"jobs", action};
                   },
                   [context, route](const HttpRequest& request, Responder responder) {
                     route(context, request, std::move(responder));
                   }));
}

}  // namespace

void add_brain_list(net::HttpServer& server, const BrainRouteContext& context) {
  server.route("GET", "/v1/jobs", [context](const HttpRequest& request, Responder responder) {
    get_jobs(context, request, std::move(responder));
  });
}

void add_brain_actions(net::HttpServer& server, const BrainRouteContext& context) {
  add_action(server, context, "feedback", &state_feedback);
  add_action(server, context, "ack", &acknowledge);
  add_action(server, context, "mute", &mute);
}

}  // namespace autopilot::job_hub
