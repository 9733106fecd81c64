// SPDX-License-Identifier: Apache-2.0
#include "preflight/gate_routes.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "api/preflight.hpp"
#include "kube/callers/guard.hpp"
#include "net/responses.hpp"

namespace autopilot::preflight {
namespace {

using net::HttpRequest;
using net::Responder;

// Why a request is refused before its token is checked; not set: it is not.
std::optional<kube::Refusal> objection(const GateContext& context, const HttpRequest& request) {
  if (!context.ask)
    return kube::Refusal{.why = "this agent has no cluster to ask; its Unix socket needs no token"};
  if (!request.peer.is_encrypted) return kube::Refusal{.why = "tokens of pods are accepted only over TLS"};
  if (kube::token_of(request).empty())
    return kube::Refusal{
        .status = 401,
        .why = std::string("this needs `Authorization: Bearer TOKEN` with the token of a pod for the "
                           "audience ") +
               kGateAudience};
  return std::nullopt;
}

net::ServerEvent event_of(std::string name, std::string data) {
  // A line end in the data would begin another line of data.
  if (data.ends_with('\n')) data.pop_back();
  return {"", std::move(name), std::move(data)};
}

// Sends events until the result, or until the client closes the connection.
void stream(PreflightGate& gate, const std::optional<PodCaller>& pod, const api::PreflightRequest& wanted,
            Responder responder) {
  const auto out = std::make_shared<net::EventStream>();
  const auto asked = gate.ask(pod, wanted,
                              {.on_progress =
                                   [out](const api::PreflightProgress& progress) {
                                     out->send(event_of("progress", api::to_json(progress)));
                                   },
                               .on_result =
                                   [out](const api::PreflightResult& result) {
                                     out->send(event_of("result", api::to_json(result)));
                                     out->close();
                                   },
                               .waits_for_gang = true});
  if (!asked) return responder.respond(asked.error());
  *out = responder.stream();
  out->on_close([&gate, listener = *asked] { gate.leave(listener); });
}

void respond(PreflightGate& gate, const std::optional<PodCaller>& pod, api::PreflightRequest wanted,
             Responder responder) {
  wanted.deadline = std::min(wanted.deadline.value_or(kLongestSilence), kLongestSilence);
  const auto shared = std::make_shared<Responder>(std::move(responder));
  const auto asked = gate.ask(pod, wanted,
                              {[](const api::PreflightProgress&) {},
                               [shared](const api::PreflightResult& result) {
                                 shared->respond(net::json_response(api::to_json(result)));
                               }});
  if (!asked) shared->respond(asked.error());
}

void answer(const GateContext& context, const std::optional<PodCaller>& pod, bool wants_events,
            const api::PreflightRequest& wanted, Responder responder) {
  PreflightGate* gate = context.gate();
  if (gate == nullptr)
    return responder.respond(Error{Errc::unavailable, "this agent is starting or stopping; try again"});
  if (wants_events) return stream(*gate, pod, wanted, std::move(responder));
  respond(*gate, pod, wanted, std::move(responder));
}

void open_gate(const GateContext& context, const HttpRequest& request, Responder responder) {
  const auto wanted = api::parse_preflight_request(request.body);
  if (!wanted) return responder.respond(wanted.error());
  const auto accept = request.headers.find("accept");
  const bool wants_events =
      accept != request.headers.end() && accept->second.find("text/event-stream") != std::string::npos;
  if (request.peer.is_owner)
    return answer(context, std::nullopt, wants_events, *wanted, std::move(responder));
  if (const auto against = objection(context, request)) return responder.respond(kube::answer_of(*against));
  const auto shared = std::make_shared<Responder>(std::move(responder));
  context.ask(kube::token_of(request),
              [context, shared, wants_events, wanted = *wanted](const PodCallers::Answer& caller) {
                if (!caller.pod) return shared->respond(kube::answer_of(caller.refusal));
                answer(context, caller.pod, wants_events, wanted, std::move(*shared));
              });
}

}  // namespace

void add_gate_routes(net::HttpServer& server, const GateContext& context) {
  server.route("POST", "/v1/preflight", [context](const HttpRequest& request, Responder responder) {
    open_gate(context, request, std::move(responder));
  });
}

}  // namespace autopilot::preflight
