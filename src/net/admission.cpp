// SPDX-License-Identifier: Apache-2.0
#include "net/admission.hpp"

#include <utility>

#include "net/listener.hpp"

namespace autopilot::net {
namespace {

Status check_host(const Listener& listener, const HttpRequest& request) {
  if (!listener.policy) return {};
  const auto host = request.headers.find("host");
  const auto origin = request.headers.find("origin");
  return listener.policy->check(host == request.headers.end() ? "" : host->second,
                                origin == request.headers.end() ? nullptr : &origin->second);
}

HttpResponse no_route(const Router::Match& match, const HttpRequest& request) {
  if (match.status != 405) return error_response(match.status, "not_found", "not found: " + request.path);
  auto response =
      error_response(match.status, "unsupported", request.path + " does not support " + request.method);
  response.headers.emplace_back("Allow", match.allow);
  return response;
}

}  // namespace

Admission admit(HttpServer::Core& core, const Listener& listener, const Peer& peer, const ReadRequest& head) {
  Admission admission;
  if (const auto allowed = check_host(listener, head.request); !allowed) {
    ++core.counters->hosts_refused;
    admission.refusal = error_response(allowed.error());
    return admission;
  }
  admission.match = core.router.find(head.request.method, head.segments);
  const Router::Match& match = admission.match;
  if (match.handler == nullptr)
    admission.refusal = no_route(match, head.request);
  else if (match.options.access == Access::local_socket && !peer.is_owner)
    admission.refusal = error_response(
        403, "denied", "send this request over the agent's Unix socket, as root or as the agent's user");
  else if (match.options.access == Access::verified_client && !peer.is_verified)
    admission.refusal =
        error_response(403, "denied", "this request needs a client certificate from a trusted authority");
  admission.body_bytes = match.options.body_bytes.value_or(core.limits.body_bytes);
  return admission;
}

}  // namespace autopilot::net
