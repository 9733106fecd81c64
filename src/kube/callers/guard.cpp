// SPDX-License-Identifier: Apache-2.0
#include "kube/callers/guard.hpp"

#include <memory>
#include <optional>
#include <utility>

#include "core/parse.hpp"
#include "net/http.hpp"
#include "net/url.hpp"

namespace autopilot::kube {
namespace {

using net::HttpRequest;
using net::HttpResponse;
using net::Responder;

constexpr const char* kGroup = "autopilot.ibm.com";

Refusal refusal_of(const CallerReviews::Decision& decision) {
  const Error& why = decision.allowed.error();
  if (why.code != Errc::denied) return {503, why.code, why.what};
  return {decision.is_known ? 403 : 401, why.code, why.what};
}

// Why no review is requested for this request; missing: a review decides.
std::optional<Refusal> objection(const CallerRights& rights, const HttpRequest& request) {
  if (!rights.ask)
    return Refusal{.why =
                       "this is done over the Unix socket of the agent, by root or by the agent's own user"};
  if (!request.peer.is_encrypted && !is_of_this_machine(request.peer))
    return Refusal{
        .why =
            "a token is taken over TLS or from the pod's own loopback alone: kubectl port-forward, or "
            "kubectl exec POD -- autopilot"};
  if (net::bearer_token(request).empty())
    return Refusal{
        .status = 401,
        .why = std::string("this needs `Authorization: Bearer TOKEN` with a token for the audience ") +
               kTokenAudience + ": kubectl create token ACCOUNT --audience " + kTokenAudience};
  return std::nullopt;
}

}  // namespace

void authorize(const CallerRights& rights, const HttpRequest& request, const kube::AccessQuestion& question,
               OnAuthorized on_authorized) {
  if (request.peer.is_owner) return on_authorized({}, std::nullopt);
  if (const auto against = objection(rights, request)) return on_authorized({}, against);
  authorize(rights, Credential{net::bearer_token(request), ""}, question, std::move(on_authorized));
}

void authorize(const CallerRights& rights, const Credential& credential, const kube::AccessQuestion& question,
               OnAuthorized on_authorized) {
  rights.ask(credential, question,
             [on_authorized = std::move(on_authorized)](const CallerReviews::Decision& decision) {
               const Caller caller{decision.user, decision.user_text};
               if (decision.allowed) return on_authorized(caller, std::nullopt);
               on_authorized(caller, refusal_of(decision));
             });
}

net::Handler guarded(const CallerRights& rights, std::function<VirtualResource(const HttpRequest&)> what,
                     net::Handler handler) {
  return [rights, what = std::move(what), handler = std::move(handler)](const HttpRequest& request,
                                                                        Responder responder) {
    const kube::AccessQuestion question = to_create(rights, what(request));
    // The request ends with this call.
    const auto kept = std::make_shared<HttpRequest>(request);
    const auto shared = std::make_shared<Responder>(std::move(responder));
    authorize(rights, request, question,
              [kept, shared, handler](const Caller& caller, const std::optional<Refusal>& refusal) {
                if (refusal) return shared->respond(answer_of(*refusal));
                kept->peer.user = caller.user;
                handler(*kept, std::move(*shared));
              });
  };
}

kube::AccessQuestion to_create(const CallerRights& rights, const VirtualResource& what) {
  return {.verb = "create",
          .group = kGroup,
          .resource = what.resource,
          .subresource = what.subresource,
          .name = rights.node,
          .name_space = rights.name_space};
}

HttpResponse answer_of(const Refusal& refusal) {
  HttpResponse response = net::error_response(refusal.status, to_string(refusal.code), refusal.why);
  if (refusal.status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

std::string token_of(const HttpRequest& request) {
  constexpr std::string_view scheme = "bearer ";
  const auto found = request.headers.find("authorization");
  if (found == request.headers.end() || found->second.size() <= scheme.size()) return {};
  if (to_lower(found->second.substr(0, scheme.size())) != scheme) return {};
  return found->second.substr(scheme.size());
}

bool may_be_of_agent(const CallerRights& rights, const HttpRequest& request) {
  return request.peer.is_encrypted && !request.peer.names.empty() && rights.find_agent;
}

bool has_token(const HttpRequest& request) {
  return !net::bearer_token(request).empty();
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

}  // namespace autopilot::kube
