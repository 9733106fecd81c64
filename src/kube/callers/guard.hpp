// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kube/callers/caller_reviews.hpp"
#include "net/http_server.hpp"

namespace autopilot::kube {

// Where the permissions of callers are decided. Used on the loop's thread.
struct CallerRights {
  std::string name_space;  // of the agents: where a Role grants the permission
  std::string node;        // for which it may be granted
  // CallerReviews::ask. Empty: no cluster; only the Unix socket is served.
  std::function<void(const Credential& credential, const kube::AccessQuestion& question,
                     CallerReviews::OnDecision on_decision)>
      ask;
  // Whether one of these names is that of a node which has an agent; errors as check_agent.
  std::function<void(const std::vector<std::string>& names, std::function<void(const Status& is_agent)> done)>
      find_agent = {};
};

// Resource that the caller needs permission to `create`, in the group autopilot.ibm.com:
// {"checks", "gpu.xid"}, {"operations", ""}, {"incidents", "ack"}. The resource exists only in RBAC rules.
struct VirtualResource {
  std::string resource;
  std::string subresource;
};

[[nodiscard]] kube::AccessQuestion to_create(const CallerRights& rights, const VirtualResource& what);

// Why a request is not served.
struct Refusal {
  int status = 403;
  Errc code = Errc::denied;
  std::string why;
};
// User of the request's token; empty over the Unix socket, whose peers have every permission.
struct Caller {
  std::string user;
  std::string user_text;  // see CallerReviews::Decision
};
using OnAuthorized = std::function<void(const Caller& caller, const std::optional<Refusal>& refusal)>;

// Whether the sender of a request has the permission. Calls back at once, or later; the request may be gone
// then.
void authorize(const CallerRights& rights, const net::HttpRequest& request,
               const kube::AccessQuestion& question, OnAuthorized on_authorized);

// The same for the user that another agent names; see callers/on_behalf.hpp.
void authorize(const CallerRights& rights, const Credential& credential, const kube::AccessQuestion& question,
               OnAuthorized on_authorized);

// Serves each caller on the Unix socket, and over TCP a caller with a token (Authorization: Bearer) whose
// user has the permission; the handler finds the user in request.peer.user. A token is accepted over TLS, and
// over plain TCP only from the loopback, where port-forward and exec arrive: elsewhere it would be in the
// clear.
//   401 no token, or not a valid token; 403 not from here, or not allowed; 503 the review failed
[[nodiscard]] net::Handler guarded(const CallerRights& rights,
                                   std::function<VirtualResource(const net::HttpRequest&)> what,
                                   net::Handler handler);

// True: the request came over TLS from a client whose certificate was verified, and CallerRights::find_agent,
// which compares the names of the certificate with the agents, is set.
[[nodiscard]] bool may_be_of_agent(const CallerRights& rights, const net::HttpRequest& request);
[[nodiscard]] bool has_token(const net::HttpRequest& request);
// Of `Authorization: Bearer TOKEN`; empty: missing.
[[nodiscard]] std::string token_of(const net::HttpRequest& request);
[[nodiscard]] net::HttpResponse answer_of(const Refusal& refusal);
// Over the Unix socket or over the loopback.
[[nodiscard]] bool is_of_this_machine(const net::Peer& peer);
// "alice" of a token, "uid 1000" of the socket.
[[nodiscard]] std::string caller_name(const net::Peer& peer);

}  // namespace autopilot::kube
