// SPDX-License-Identifier: Apache-2.0
#include "agent/callers/guard.hpp"

#include <memory>
#include <optional>
#include <utility>

#include "core/parse.hpp"
#include "net/address.hpp"

namespace autopilot::agent {
namespace {

using net::HttpRequest;
using net::HttpResponse;
using net::Responder;

constexpr const char* kGroup = "autopilot.ibm.com";

// Empty: there is none.
std::string token_of(const HttpRequest& request) {
  constexpr std::string_view scheme = "bearer ";
  const auto found = request.headers.find("authorization");
  if (found == request.headers.end() || found->second.size() <= scheme.size()) return {};
  if (to_lower(found->second.substr(0, scheme.size())) != scheme) return {};
  return found->second.substr(scheme.size());
}

HttpResponse unauthorized(const std::string& why) {
  HttpResponse response = net::error_response(401, "denied", why);
  response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

HttpResponse refusal(const CallerReviews::Decision& decision) {
  const Error& why = decision.allowed.error();
  if (why.code != Errc::denied || decision.is_known) return net::error_response(why);
  return unauthorized(why.what);
}

// What stands against asking about it at all.
std::optional<HttpResponse> objection(const CallerRights& rights, const HttpRequest& request) {
  if (!rights.ask)
    return net::error_response(403, "denied", "this is done over the Unix socket of the agent");
  if (!is_of_this_machine(request.peer))
    return net::error_response(403, "denied",
                               "a token is taken over the Unix socket or from the pod's own loopback alone: "
                               "kubectl port-forward, or kubectl exec POD -- autopilot");
  if (token_of(request).empty())
    return unauthorized(
        std::string("this needs `Authorization: Bearer TOKEN` with a token for the audience ") +
        kTokenAudience + ": kubectl create token ACCOUNT --audience " + kTokenAudience);
  return std::nullopt;
}

}  // namespace

net::Handler guarded(const CallerRights& rights, std::function<VirtualResource(const HttpRequest&)> what,
                     net::Handler handler) {
  return [rights, what = std::move(what), handler = std::move(handler)](const HttpRequest& request,
                                                                        Responder responder) {
    if (request.peer.is_local_socket) return handler(request, std::move(responder));
    if (auto against = objection(rights, request)) return responder.respond(std::move(*against));
    const auto [resource, subresource] = what(request);
    const kube::AccessQuestion question{.verb = "create",
                                        .group = kGroup,
                                        .resource = resource,
                                        .subresource = subresource,
                                        .name = rights.node,
                                        .name_space = rights.name_space};
    // The request ends with this call.
    const auto kept = std::make_shared<HttpRequest>(request);
    const auto shared = std::make_shared<Responder>(std::move(responder));
    rights.ask(token_of(request), question, [kept, shared, handler](const CallerReviews::Decision& decision) {
      if (!decision.allowed) return shared->respond(refusal(decision));
      kept->peer.user = decision.user;
      handler(*kept, std::move(*shared));
    });
  };
}

bool is_of_this_machine(const net::Peer& peer) {
  if (peer.is_local_socket) return true;
  const auto where = net::parse_ip_port(peer.address);
  return where && (where->address.starts_with("127.") || where->address == "::1" ||
                   where->address.starts_with("::ffff:127."));
}

std::string caller_name(const net::Peer& peer) {
  return peer.user.empty() ? "uid " + std::to_string(peer.uid) : peer.user;
}

}  // namespace autopilot::agent
